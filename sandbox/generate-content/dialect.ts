import type { IncomingHttpHeaders } from 'node:http'
import { asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import { plainModel } from '../answers/directives.ts'
import { type Fault, Refusal } from '../answers/faults.ts'
import { outputOf } from '../answers/output.ts'
import {
  type Answer,
  type Asked,
  type Dialect,
  type Incoming,
  type Part,
  streamAnswer,
  wholeAnswer,
} from '../http/dialect.ts'
import { checkGenerateContent } from './check.ts'
import { blockedChunk, type Chunk, chunksOf, wholeChunk } from './chunks.ts'
import { memberOf } from './refusing.ts'
import { readContentRequest } from './request.ts'
import { reportedGenerateContentUsage } from './usage.ts'

/** `/v1/models/<model>:<method>`; the model's directives may have anything in them. */
export const contentPath = /^\/v1(?:beta)?\/models\/(.+):(generateContent|streamGenerateContent)$/
export const countPath = /^\/v1(?:beta)?\/models\/(.+):countTokens$/

const pathOf = (url: string): string => new URL(url, 'http://sandbox').pathname

const keyOf = (headers: IncomingHttpHeaders, url: string): string => {
  const key = asText(headers['x-goog-api-key']) || new URL(url, 'http://sandbox').searchParams.get('key')
  if (key === null || key === '')
    throw new Refusal(
      "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
      { status: 403 },
    )
  return key
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) throw new Refusal('The path is malformed.')
    throw error
  }
}

/** Of the path that `pattern` matches. */
export const modelInPath = ({ url }: Incoming, pattern: RegExp): string => decoded(pattern.exec(pathOf(url))?.[1] ?? '')

const modelOf = (incoming: Incoming): string => modelInPath(incoming, contentPath) || modelInPath(incoming, countPath)

const streams = ({ url }: Incoming): boolean => {
  const { pathname, searchParams } = new URL(url, 'http://sandbox')
  return pathname.endsWith(':streamGenerateContent') && searchParams.get('alt') === 'sse'
}

const check = (incoming: Incoming): void => checkGenerateContent(incoming.body, plainModel(modelOf(incoming)))

const eventOf = ({ value, reported }: Chunk): Part => ({
  text: `data: ${JSON.stringify(value)}\n\n`,
  reported,
})

function* events(chunks: Iterable<Chunk>): Iterable<Part> {
  for (const chunk of chunks) yield eventOf(chunk)
}

const answer = (asked: Asked): Answer => {
  const { directives } = asked
  const request = readContentRequest(asked.body, directives)
  const output = outputOf(request, directives)
  const reported = reportedGenerateContentUsage(request, output, directives)
  const reason = directives.block_reason
  const blocked = reason === undefined ? null : blockedChunk(asked, reason, reported)
  if (asked.stream)
    return streamAnswer(events(blocked === null ? chunksOf(asked, request, output, reported) : [blocked]))
  const whole = blocked ?? wholeChunk(asked, request, output, reported)
  return wholeAnswer(JSON.stringify(whole.value), whole.reported)
}

const statuses: { readonly [status: number]: string } = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

const statusOf = ({ status, word }: Fault): string =>
  word ?? statuses[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT')

const errorBody = (fault: Fault): string =>
  JSON.stringify({ error: { code: fault.status, message: fault.message, status: statusOf(fault) } })

export const generateContent: Dialect = {
  keyOf,
  modelOf,
  streams,
  check,
  answer,
  headersOf: () => ({}),
  errorBody,
  billsOn: () => true,
  errorEvent: (fault) => `data: ${errorBody(fault)}\n\n`,
}

/** Contents, or a whole request of a model. */
const countedIn = ({ body }: Pick<Incoming, 'body'>): JsonObject => {
  const request = memberOf(body, 'generateContentRequest')
  return isObject(request) ? request : body
}

const checkCount = (incoming: Incoming): void => {
  const counted = countedIn(incoming)
  if (counted !== incoming.body && asText(counted['model']) !== `models/${modelOf(incoming)}`)
    throw new Refusal('The model of `generateContentRequest` must be the one of the path.')
  checkGenerateContent(counted, plainModel(modelOf(incoming)))
}

const countedAnswer = (asked: Asked): Answer => {
  const { words, images, audios } = readContentRequest(countedIn(asked), asked.directives)
  const totalTokens = words + images + audios
  const promptTokensDetails = [{ modality: 'TEXT', tokenCount: words }]
  return wholeAnswer(JSON.stringify({ totalTokens, promptTokensDetails }), null)
}

/** A free count of the prompt's tokens. */
export const countContentTokens: Dialect = {
  ...generateContent,
  streams: () => false,
  check: checkCount,
  answer: countedAnswer,
}
