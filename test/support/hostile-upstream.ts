import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { programEnvironment } from './program.ts'

/** What the upstream does to one call, by the model that is called. */
export type Behaviour = (response: ServerResponse, asked: { readonly stream: boolean }) => void | Promise<void>

const listenForCalls = async (behaviours: Readonly<Record<string, Behaviour>>): Promise<Server> => {
  const server = createServer(async (request, response) => {
    const body = await request.toArray().catch(() => [])
    if (!request.complete) return // Its caller has left.
    const { model, stream = false } = JSON.parse(Buffer.concat(body).toString())
    response.on('error', () => undefined)
    await behaviours[model]?.(response, { stream })
  }).listen(0, '127.0.0.1', 8_192)
  await once(server, 'listening')
  return server
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`

/** An upstream that behaves as its models are told to; the result is its base URL. */
export const startHostileUpstream = async (
  t: Test,
  behaviours: Readonly<Record<string, Behaviour>>,
): Promise<string> => {
  const server = await listenForCalls(behaviours)
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return urlOf(server)
}

/** In a script of its own: an upstream that ends with the process that started it. */
export const serveHostileUpstream = async (behaviours: Readonly<Record<string, Behaviour>>): Promise<void> => {
  const server = await listenForCalls(behaviours)
  process.once('disconnect', () => process.exit())
  process.send?.({ url: urlOf(server), models: Object.keys(behaviours) } satisfies UpstreamApart)
}

interface UpstreamApart {
  readonly url: string
  readonly models: readonly string[]
}

/** The upstream of a script in a process of its own, whose work delays nothing that the test measures. */
export const startHostileUpstreamApart = async (t: Test, script: URL): Promise<UpstreamApart> => {
  const child = fork(fileURLToPath(script), { execArgv: [], env: programEnvironment() })
  t.teardown(() => child.disconnect())
  const [started] = await once(child, 'message')
  return started
}

export const beginStream = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
}

/** A chunk of a chat completion with these words. */
export const wordsEvent = (content: string): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`

/** The end of a chat completion, with its usage. */
export const closingEvents = (promptTokens: number, completionTokens: number): string => {
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
  const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const stop = { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
  return [stop, { ...head, choices: [], usage }]
    .map((each) => `data: ${JSON.stringify(each)}\n\n`)
    .join('')
    .concat('data: [DONE]\n\n')
}
