import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { asObject, isObject, type JsonObject, parseJson } from '../../src/encoding/json.ts'
import type { Clock, NewId } from '../../src/runtime/clock.ts'
import { type Directives, noDirectives, parseDirectives, plainModel, withoutFaults } from '../answers/directives.ts'
import { Refusal, readFault } from '../answers/faults.ts'
import { sandboxLimits } from '../answers/limits.ts'
import type { CallLog, CallRecord } from './calls.ts'
import { billedOfCancelled } from './cancelled.ts'
import { deliver, withDone, withStreamError } from './delivery.ts'
import {
  type Answer,
  type Asked,
  type Dialect,
  htmlPage,
  type Incoming,
  jsonType,
  streamAnswer,
  wholeAnswer,
} from './dialect.ts'
import { Line } from './line.ts'

export interface SandboxParts {
  readonly clock: Clock
  readonly newId: NewId
  readonly calls: CallLog
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

const textOfChunks = (chunks: readonly Buffer[]): string =>
  chunks.length === 1 && chunks[0] !== undefined ? chunks[0].toString() : Buffer.concat(chunks).toString()

export type Received = { readonly text: string } | 'too_large' | 'gone'

export const readBody = (request: IncomingMessage): Promise<Received> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= sandboxLimits.sandboxBodyBytesMax) chunks.push(chunk)
    })
    request.on('end', () =>
      resolve(bytes > sandboxLimits.sandboxBodyBytesMax ? 'too_large' : { text: textOfChunks(chunks) }),
    )
    request.on('close', () => resolve('gone'))
  })

const notJson = '{"id": "chatcmpl-sandbox", this is not JSON'

const madeUp = (dialect: Dialect, { directives, stream, secrets, id }: Asked): Answer | null => {
  if (directives.html) return wholeAnswer(htmlPage, null, directives.status, 'text/html; charset=utf-8')
  if (directives.not_json)
    return stream && directives.status === undefined
      ? streamAnswer([{ text: `data: ${notJson}\n\n`, reported: null }])
      : wholeAnswer(notJson, null, directives.status)
  const errorBody = (): string => dialect.errorBody(readFault(directives, secrets), id)
  if (directives.error_200) return wholeAnswer(errorBody(), null)
  return directives.status === undefined ? null : wholeAnswer(errorBody(), null, directives.status)
}

const answerTo = (dialect: Dialect, asked: Asked): Answer => {
  if (asked.directives === noDirectives) return dialect.answer(asked)
  const answer = madeUp(dialect, asked) ?? dialect.answer(asked)
  return withDone(withStreamError(answer, asked, dialect), asked.directives)
}

const bodyObject = (text: string): JsonObject => {
  const body = parseJson(text)
  if (!isObject(body)) throw new Refusal('We could not parse the JSON body of your request.')
  return body
}

/** Google knows labels, the others metadata. */
const overrideIn = (body: JsonObject): unknown =>
  asObject(body['metadata'])['sandbox'] ?? asObject(body['labels'])['sandbox']

const directivesFor = (body: JsonObject, upstreamModel: string, calls: CallLog): Directives => {
  const directives = parseDirectives(upstreamModel, overrideIn(body))
  if (directives.first === undefined) return directives
  return calls.countOf(upstreamModel) <= directives.first ? directives : withoutFaults(directives)
}

interface Arrived {
  readonly id: string
  readonly request: IncomingMessage
  readonly text: string
  readonly call: CallRecord
}

const askedOf = (dialect: Dialect, parts: SandboxParts, { id, request, text, call }: Arrived): Asked => {
  const { headers, url = '/' } = request
  const key = dialect.keyOf(headers, url)
  const incoming: Incoming = { url, headers, body: bodyObject(text) }
  const upstreamModel = dialect.modelOf(incoming)
  const directives = directivesFor(incoming.body, upstreamModel, parts.calls)
  call.asks(upstreamModel, directives)
  dialect.check(incoming, directives)
  return {
    body: incoming.body,
    stream: dialect.streams(incoming),
    model: plainModel(upstreamModel),
    directives,
    secrets: { key, host: headers.host ?? '' },
    id,
    at: parts.clock(),
  }
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
  call.wrote(part.reported)
  call.end('completed')
}

const answerShaped = async (
  response: ServerResponse,
  dialect: Dialect,
  asked: Asked,
  call: CallRecord,
): Promise<void> => {
  const line = new Line(response)
  const { directives } = asked
  const beganMs = performance.now()
  if (directives.delay_ms !== undefined) await line.pause(directives.delay_ms)
  if (directives.hang) await line.hang()
  const outcome = await deliver(line, answerTo(dialect, asked), directives, call)
  if (outcome === 'cancelled' && asked.stream) {
    const written = dialect.billsOn(directives) ? Number.POSITIVE_INFINITY : call.chunksWritten
    call.bill(
      billedOfCancelled(answerTo(dialect, asked), directives, { written, elapsedMs: performance.now() - beganMs }),
    )
  }
  call.end(outcome)
}

const converse = (
  response: ServerResponse,
  dialect: Dialect,
  asked: Asked,
  call: CallRecord,
): undefined | Promise<void> => {
  if (asked.directives !== noDirectives) return answerShaped(response, dialect, asked, call)
  const answer = answerTo(dialect, asked)
  if (answer.stream) return deliver(new Line(response), answer, noDirectives, call).then((outcome) => call.end(outcome))
  answerPlainly(response, answer, call)
}

const refuse = (response: ServerResponse, dialect: Dialect, refusal: unknown, id: string, call: CallRecord): void => {
  if (!(refusal instanceof Refusal)) {
    call.end('broken')
    throw refusal
  }
  answerPlainly(response, wholeAnswer(dialect.errorBody(refusal.fault, id), null, refusal.fault.status), call)
}

const nameCall = (response: ServerResponse, dialect: Dialect, id: string): void => {
  for (const [name, value] of Object.entries(dialect.headersOf(id))) response.setHeader(name, value)
}

/** Handles one call from its body to the end of its answer, the same for every dialect that answers at once. */
export const exchange =
  (dialect: Dialect, parts: SandboxParts): Handler =>
  async (request, response) => {
    const received = await readBody(request)
    const text = typeof received === 'string' ? '' : received.text
    const call = parts.calls.open(request, text, parts.clock())
    if (received === 'gone') return call.end('cancelled')
    const id = parts.newId()
    nameCall(response, dialect, id)
    try {
      if (received === 'too_large') throw new Refusal('The request body is too large.', { status: 413 })
      await converse(response, dialect, askedOf(dialect, parts, { id, request, text, call }), call)
    } catch (error) {
      refuse(response, dialect, error, id, call)
    }
  }

/** A request without a body, which no directive shapes; `bodyOf` throws Refusal for an unknown object. */
export const lookup =
  (dialect: Dialect, parts: SandboxParts, bodyOf: (url: string) => string): Handler =>
  (request, response) => {
    const { headers, url = '/' } = request
    const call = parts.calls.open(request, '', parts.clock())
    const id = parts.newId()
    request.resume()
    nameCall(response, dialect, id)
    try {
      dialect.keyOf(headers, url)
      answerPlainly(response, wholeAnswer(bodyOf(url), null), call)
    } catch (error) {
      refuse(response, dialect, error, id, call)
    }
  }
