/** An upstream that refuses what OpenAI refuses, calls the tool that it was offered, and answers with what the tool said. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { asArray, asObject, asText, isObject, type JsonObject, parseJson } from '../../src/encoding/json.ts'
import { problemOf } from './rules.ts'

/** What it has answered so far. */
export interface Answered {
  readonly answers: number
  readonly calls: number
  readonly promptTokens: number
  readonly outputTokens: number
  /** Each with its reason. */
  readonly refusals: readonly string[]
}

interface Call {
  readonly name: string
  readonly arguments: string
}

type Reply = { readonly content: string } | { readonly call: Call }

const createdSeconds = 1_790_000_000

const contentText = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : asArray(content)
        .map((part) => asText(asObject(part)['text']))
        .join('\n')

const fileIn = (asked: string): string | undefined => /\/\S+\.txt/.exec(asked)?.[0]

/** The tools that are known here, with what they are asked. */
const argumentsOf: Readonly<Record<string, (asked: string) => JsonObject>> = {
  Read: (asked) => ({ file_path: fileIn(asked) }),
  exec_command: (asked) => ({ cmd: `cat ${fileIn(asked)}` }),
  // Of newer models: a program that calls the tools.
  functions__exec: (asked) => ({ input: `text(await tools.exec_command({ cmd: 'cat ${fileIn(asked)}' }))` }),
  weather: () => ({ place: 'Bern' }),
}

const callFor = (body: JsonObject, asked: string): Call => {
  const names = asArray(body['tools']).map((tool) => asText(asObject(asObject(tool)['function'])['name']))
  const name = names.find((each) => Object.hasOwn(argumentsOf, each))
  if (name === undefined) throw new Error(`no known tool was offered, but ${names.join()}`)
  return { name, arguments: JSON.stringify(argumentsOf[name]?.(asked)) }
}

const replyTo = (body: JsonObject): Reply => {
  const messages = asArray(body['messages']).map(asObject)
  const last = messages.findLast(({ role }) => role === 'user' || role === 'tool') ?? {}
  const said = contentText(last['content'])
  return last['role'] === 'tool' ? { content: `The tool said: ${said}` } : { call: callFor(body, said) }
}

const tokensIn = (value: unknown): number => Math.ceil(JSON.stringify(value).length / 4)

const usageOf = (body: JsonObject, reply: Reply) => {
  const prompt_tokens = tokensIn(body['messages']) + tokensIn(body['tools'] ?? [])
  const completion_tokens = tokensIn(reply)
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
}

const toolCallOf = ({ name, arguments: given }: Call, id: string) => ({
  id,
  type: 'function',
  function: { name, arguments: given },
})

const messageOf = (reply: Reply, callId: string): JsonObject =>
  'content' in reply
    ? { role: 'assistant', content: reply.content, refusal: null }
    : { role: 'assistant', content: null, refusal: null, tool_calls: [toolCallOf(reply.call, callId)] }

/** Arguments and words come in pieces. */
const deltasOf = (reply: Reply, callId: string): readonly JsonObject[] => {
  if ('content' in reply) return [{ role: 'assistant', content: '' }, ...piecesOf(reply.content).map(wordsDelta)]
  const begin = { index: 0, ...toolCallOf({ ...reply.call, arguments: '' }, callId) }
  return [
    { role: 'assistant', content: null, tool_calls: [begin] },
    ...piecesOf(reply.call.arguments).map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
  ]
}

const wordsDelta = (content: string): JsonObject => ({ content })
const piecesOf = (whole: string): readonly string[] => whole.match(/.{1,7}/gsu) ?? []

const writeJson = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const writeStream = (response: ServerResponse, chunks: readonly JsonObject[]): void => {
  const events = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${events.join('')}data: [DONE]\n\n`)
}

const finishOf = (reply: Reply): string => ('content' in reply ? 'stop' : 'tool_calls')

const chunksOf = (body: JsonObject, reply: Reply, id: string): readonly JsonObject[] => {
  const head = { id, object: 'chat.completion.chunk', created: createdSeconds, model: body['model'] }
  const chunk = (delta: JsonObject, finish_reason: string | null): JsonObject => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    usage: null,
  })
  return [
    ...deltasOf(reply, `call_${id}`).map((delta) => chunk(delta, null)),
    chunk({}, finishOf(reply)),
    { ...head, choices: [], usage: usageOf(body, reply) },
  ]
}

const completionOf = (body: JsonObject, reply: Reply, id: string): JsonObject => ({
  id,
  object: 'chat.completion',
  created: createdSeconds,
  model: body['model'],
  choices: [{ index: 0, message: messageOf(reply, `call_${id}`), logprobs: null, finish_reason: finishOf(reply) }],
  usage: usageOf(body, reply),
})

export class StrictUpstream {
  #answered: Answered = { answers: 0, calls: 0, promptTokens: 0, outputTokens: 0, refusals: [] }
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  get answered(): Answered {
    return this.#answered
  }

  /** Its base URL. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = parseJson(await text(request))
      if (request.url !== '/v1/chat/completions') throw new Error(`there is no ${request.url}`)
      if (!isObject(body)) throw new Error('the body is no JSON object')
      const problem = problemOf(body)
      if (problem !== null) throw new Error(problem)
      this.#answer(body, replyTo(body), response)
    } catch (fault) {
      const message = fault instanceof Error ? fault.message : String(fault)
      this.#answered = { ...this.#answered, refusals: [...this.#answered.refusals, message] }
      writeJson(response, 400, { error: { message, type: 'invalid_request_error', param: null, code: null } })
    }
  }

  #answer(body: JsonObject, reply: Reply, response: ServerResponse): void {
    const { answers, calls, promptTokens, outputTokens, refusals } = this.#answered
    const usage = usageOf(body, reply)
    this.#answered = {
      answers: answers + 1,
      calls: calls + ('call' in reply ? 1 : 0),
      promptTokens: promptTokens + usage.prompt_tokens,
      outputTokens: outputTokens + usage.completion_tokens,
      refusals,
    }
    const id = `chatcmpl-${answers}`
    if (body['stream'] === true) writeStream(response, chunksOf(body, reply, id))
    else writeJson(response, 200, completionOf(body, reply, id))
  }
}
