import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** What the upstream does to one call, by the model that is called. */
export type Behaviour = (response: ServerResponse, asked: { readonly stream: boolean }) => void | Promise<void>

/** An upstream that behaves as its models are told to; the result is its base URL. */
export const startHostileUpstream = async (
  t: Test,
  behaviours: Readonly<Record<string, Behaviour>>,
): Promise<string> => {
  const server = createServer(async (request, response) => {
    const { model, stream = false } = JSON.parse(Buffer.concat(await request.toArray()).toString())
    response.on('error', () => undefined)
    await behaviours[model]?.(response, { stream })
  }).listen(0, '127.0.0.1', 8_192)
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
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
