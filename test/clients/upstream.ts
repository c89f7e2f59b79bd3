/** An upstream of every format, which refuses what the format's provider refuses. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { isObject, type JsonObject, parseJson } from '../../src/encoding/json.ts'
import { chat } from './formats/chat.ts'
import type { Format, Received } from './formats/format.ts'
import { gemini } from './formats/gemini.ts'
import { messages } from './formats/messages.ts'
import { responses } from './formats/responses.ts'
import { countTokens, replyTo } from './script.ts'

const formats: readonly Format[] = [chat, messages, responses, gemini]

/** What it has answered so far. */
export interface Answered {
  readonly answers: number
  readonly calls: number
  readonly promptTokens: number
  readonly outputTokens: number
  /** Each with its reason. */
  readonly refusals: readonly string[]
}

const writeJson = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const eventOnWire = (event: JsonObject): string =>
  `${typeof event['type'] === 'string' ? `event: ${event['type']}\n` : ''}data: ${JSON.stringify(event)}\n\n`

const readReceived = async (request: IncomingMessage): Promise<Received> => {
  const body = parseJson(await text(request))
  if (!isObject(body)) throw new Error('the body is no JSON object')
  return { body, path: request.url ?? '', headers: request.headers }
}

export class StrictUpstream {
  #answered: Answered = { answers: 0, calls: 0, promptTokens: 0, outputTokens: 0, refusals: [] }
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  get answered(): Answered {
    return this.#answered
  }

  /** Where it listens. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const received = await readReceived(request)
      const format = formats.find(({ path }) => path.test(received.path))
      if (format === undefined) throw new Error(`there is no ${received.path}`)
      format.check(received)
      this.#answer(format, received, response)
    } catch (fault) {
      const message = fault instanceof Error ? fault.message : String(fault)
      this.#answered = { ...this.#answered, refusals: [...this.#answered.refusals, `${request.url}: ${message}`] }
      writeJson(response, 400, { error: { message, type: 'invalid_request_error', param: null, code: null } })
    }
  }

  #answer(format: Format, received: Received, response: ServerResponse): void {
    const { answers, calls, promptTokens, outputTokens, refusals } = this.#answered
    const reply = replyTo(format.readAsked(received.body))
    const counted = countTokens(received.body, reply)
    this.#answered = {
      answers: answers + 1,
      calls: calls + ('call' in reply ? 1 : 0),
      promptTokens: promptTokens + counted.prompt,
      outputTokens: outputTokens + counted.output,
      refusals,
    }
    const id = `chatcmpl-${answers}`
    if (!format.isStream(received)) writeJson(response, 200, format.whole(received, reply, counted, id))
    else {
      const events = format.events(received, reply, counted, id).map(eventOnWire)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join('') + (format.end ?? ''))
    }
  }
}
