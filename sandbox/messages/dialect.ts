import type { IncomingHttpHeaders } from 'node:http'
import { asText, type JsonObject } from '../../src/encoding/json.ts'
import { type Fault, Refusal } from '../answers/faults.ts'
import { outputOf } from '../answers/output.ts'
import {
  type Answer,
  type Asked,
  type Dialect,
  type Incoming,
  namedEvent,
  streamAnswer,
  streamsByBody,
  wholeAnswer,
} from '../http/dialect.ts'
import { checkCount, checkMessages } from './check.ts'
import { contentOf, wholeBlock } from './content.ts'
import { endingOf, messageOf } from './message.ts'
import { refuseMessages } from './refusing.ts'
import { promptTokensOf, readMessagesRequest } from './request.ts'
import { streamMessagesParts } from './stream.ts'
import { usageReportsOf } from './usage.ts'

const keyOf = (headers: IncomingHttpHeaders): string => {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  const key = bearer ?? asText(headers['x-api-key'])
  if (key === '') throw new Refusal('x-api-key header is required', { status: 401 })
  return key
}

const modelOf = ({ body }: Incoming): string => {
  const model = asText(body['model'])
  if (model === '') throw refuseMessages('model', 'Field required')
  return model
}

const answer = (asked: Asked): Answer => {
  const request = readMessagesRequest(asked.body, asked.directives)
  const output = outputOf(request, asked.directives)
  const reports = usageReportsOf(asked, request, output)
  const content = contentOf(asked, request, output)
  if (asked.stream) return streamAnswer(streamMessagesParts(asked, output, content, reports))
  const whole = reports?.whole ?? null
  return wholeAnswer(JSON.stringify(messageOf(asked, content.map(wholeBlock), endingOf(asked, output), whole)), whole)
}

const types: { readonly [status: number]: string } = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

const typeOf = ({ status, word }: Fault): string =>
  word ?? types[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')

const errorOf = (type: string, message: string, id: string): JsonObject => ({
  type: 'error',
  error: { type, message },
  request_id: requestIdOf(id),
})

const requestIdOf = (id: string): string => `req_${id.replaceAll('-', '')}`

const errorBody = (fault: Fault, id: string): string => JSON.stringify(errorOf(typeOf(fault), fault.message, id))

/** Inside a stream the usual fault is an overload. */
const errorEvent = ({ word, message }: Fault, { id }: Asked): string =>
  namedEvent(errorOf(word ?? 'overloaded_error', message, id))

export const messages: Dialect = {
  keyOf,
  modelOf,
  streams: streamsByBody,
  check: checkMessages,
  answer,
  headersOf: (id) => ({ 'request-id': requestIdOf(id) }),
  errorBody,
  errorEvent,
  billsOn: () => false,
}

const countedAnswer = ({ body, directives }: Asked): Answer =>
  wholeAnswer(JSON.stringify({ input_tokens: directives.prompt_tokens ?? promptTokensOf(body) }), null)

/** A free count of the prompt's tokens. */
export const countTokens: Dialect = { ...messages, streams: () => false, check: checkCount, answer: countedAnswer }
