import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isObject, type JsonObject, objectOf, parseJson } from '../json.ts'
import { limits } from '../limits.ts'
import type { Clock, NewId } from '../roles/role.ts'
import type { CallLog, CallRecord } from './calls.ts'
import { deliver, withStreamError } from './delivery.ts'
import { type Answer, type Dialect, jsonType, streamAnswer, wholeAnswer } from './dialect.ts'
import { type Directives, noDirectives, parseDirectives, plainModel, withoutFaults } from './directives.ts'
import { faultOf, Refusal, type Secrets } from './faults.ts'
import { Line } from './line.ts'

export interface SandboxParts {
  readonly clock: Clock
  readonly newId: NewId
  readonly calls: CallLog
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

const textOfChunks = (chunks: readonly Buffer[]): string =>
  chunks.length === 1 && chunks[0] !== undefined ? chunks[0].toString() : Buffer.concat(chunks).toString()

type Received = { readonly text: string } | 'too_large' | 'gone'

const readBody = (request: IncomingMessage): Promise<Received> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= limits.sandboxBodyBytesMax) chunks.push(chunk)
    })
    request.on('end', () => resolve(bytes > limits.sandboxBodyBytesMax ? 'too_large' : { text: textOfChunks(chunks) }))
    request.on('close', () => resolve('gone'))
  })

const htmlPage = '<!DOCTYPE html>\n<html><head><title>Sandbox</title></head><body><h1>It works</h1></body></html>\n'
const notJson = '{"id": "chatcmpl-sandbox", this is not JSON'

/** One call with all that its answer is made from. */
interface Conversation {
  readonly dialect: Dialect
  readonly parts: SandboxParts
  readonly body: JsonObject
  readonly upstreamModel: string
  readonly directives: Directives
  readonly secrets: Secrets
}

const madeUp = ({ dialect, directives, body, secrets }: Conversation): Answer | null => {
  if (directives.html) return wholeAnswer(htmlPage, null, directives.status, 'text/html; charset=utf-8')
  if (directives.not_json)
    return body['stream'] === true && directives.status === undefined
      ? streamAnswer([{ text: `data: ${notJson}\n\n`, told: null }])
      : wholeAnswer(notJson, null, directives.status)
  const errorBody = (): string => dialect.errorBody(faultOf(directives, secrets))
  if (directives.error_200) return wholeAnswer(errorBody(), null)
  return directives.status === undefined ? null : wholeAnswer(errorBody(), null, directives.status)
}

const answerTo = (conversation: Conversation): Answer => {
  const { dialect, parts, body, upstreamModel, directives, secrets } = conversation
  const told = directives === noDirectives ? null : madeUp(conversation)
  if (told !== null) return told
  const model = plainModel(upstreamModel)
  const answer = dialect.answer({ body, model, directives, id: parts.newId(), at: parts.clock() })
  return directives.stream_error === undefined
    ? answer
    : withStreamError(answer, directives, dialect, faultOf(directives, secrets))
}

const bodyObject = (text: string): JsonObject => {
  const body = parseJson(text)
  if (!isObject(body)) throw new Refusal('We could not parse the JSON body of your request.')
  return body
}

const modelOf = (body: JsonObject): string => {
  const model = body['model']
  if (typeof model !== 'string' || model === '')
    throw new Refusal('you must provide a model parameter', { param: 'model' })
  return model
}

const directivesFor = (body: JsonObject, upstreamModel: string, calls: CallLog): Directives => {
  const directives = parseDirectives(upstreamModel, objectOf(body['metadata'])['sandbox'])
  if (directives.first === undefined) return directives
  return calls.countOf(upstreamModel) <= directives.first ? directives : withoutFaults(directives)
}

const conversationOf = (
  dialect: Dialect,
  parts: SandboxParts,
  request: IncomingMessage,
  text: string,
  call: CallRecord,
): Conversation => {
  const key = dialect.keyOf(request.headers)
  const body = bodyObject(text)
  const upstreamModel = modelOf(body)
  const directives = directivesFor(body, upstreamModel, parts.calls)
  call.asks(upstreamModel, directives)
  dialect.check(body)
  return { dialect, parts, body, upstreamModel, directives, secrets: { key, host: request.headers.host ?? '' } }
}

/** The whole answer in one write: the path that a bench measures. */
const writeAtOnce = (response: ServerResponse, status: number, text: string): void => {
  response.writeHead(status, ['content-type', jsonType, 'content-length', String(Buffer.byteLength(text))])
  response.end(text)
}

const answerPlainly = (response: ServerResponse, answer: Answer, call: CallRecord): void => {
  const [part] = answer.parts
  if (response.destroyed || part === undefined) {
    call.end('cancelled')
    return
  }
  writeAtOnce(response, answer.status, part.text)
  call.answered(answer.status)
  call.wrote(part.told)
  call.end('completed')
}

const answerShaped = async (response: ServerResponse, conversation: Conversation, call: CallRecord): Promise<void> => {
  const line = new Line(response)
  const { directives } = conversation
  if (directives.delay_ms !== undefined) await line.pause(directives.delay_ms)
  if (directives.hang) await line.hang()
  call.end(await deliver(line, answerTo(conversation), directives, call))
}

const converse = (response: ServerResponse, conversation: Conversation, call: CallRecord): void | Promise<void> => {
  if (conversation.directives !== noDirectives) return answerShaped(response, conversation, call)
  const answer = answerTo(conversation)
  if (!answer.stream) return answerPlainly(response, answer, call)
  return deliver(new Line(response), answer, noDirectives, call).then((outcome) => call.end(outcome))
}

const refuse = (response: ServerResponse, dialect: Dialect, refusal: unknown, call: CallRecord): void => {
  if (!(refusal instanceof Refusal)) {
    call.end('broken')
    throw refusal
  }
  answerPlainly(response, wholeAnswer(dialect.errorBody(refusal.fault), null, refusal.fault.status), call)
}

/** One call from its body to the end of its answer, the same for every dialect that answers at once. */
export const exchange =
  (dialect: Dialect, parts: SandboxParts): Handler =>
  async (request, response) => {
    const received = await readBody(request)
    const text = typeof received === 'string' ? '' : received.text
    const call = parts.calls.open(request, text, parts.clock())
    if (received === 'gone') return call.end('cancelled')
    try {
      if (received === 'too_large') throw new Refusal('The request body is too large.', { status: 413 })
      await converse(response, conversationOf(dialect, parts, request, text, call), call)
    } catch (error) {
      refuse(response, dialect, error, call)
    }
  }

/** A GET of something that no directive shapes. */
export const lookup =
  (dialect: Dialect, parts: SandboxParts, bodyOf: () => string): Handler =>
  (request, response) => {
    const call = parts.calls.open(request, '', parts.clock())
    try {
      dialect.keyOf(request.headers)
      answerPlainly(response, wholeAnswer(bodyOf(), null), call)
    } catch (error) {
      refuse(response, dialect, error, call)
    }
  }
