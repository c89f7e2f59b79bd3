import type { IncomingHttpHeaders } from 'node:http'
import { type Fault, Refusal } from '../answers/faults.ts'
import { sandboxLimits } from '../answers/limits.ts'
import { outputOf } from '../answers/output.ts'
import {
  type Answer,
  type Asked,
  type Dialect,
  type Incoming,
  modelInBody,
  streamAnswer,
  streamsByBody,
  wholeAnswer,
} from '../http/dialect.ts'
import { streamChatParts } from './chunks.ts'
import { completionText } from './completion.ts'
import { readChatRequest } from './request.ts'
import { reportedChatUsage } from './usage.ts'

const missingKey =
  "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth " +
  '(i.e. Authorization: Bearer YOUR_KEY).'

/** Of an Authorization header; throws Refusal where there is none. */
export const bearerKeyOf = (headers: IncomingHttpHeaders): string => {
  const [, key] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  if (key === undefined) throw new Refusal(missingKey, { status: 401, code: null })
  return key
}

const isChoiceCount = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= sandboxLimits.sandboxChoicesMax)

const check = ({ body }: Incoming): void => {
  if (!Array.isArray(body['messages']))
    throw new Refusal("Missing required parameter: 'messages'.", {
      code: 'missing_required_parameter',
      param: 'messages',
    })
  if (body['messages'].length === 0)
    throw new Refusal("Invalid 'messages': empty array.", { code: 'empty_array', param: 'messages' })
  if (!isChoiceCount(body['n']))
    throw new Refusal(`Invalid 'n': a whole number from 1 to ${sandboxLimits.sandboxChoicesMax}.`, { param: 'n' })
}

const answer = (asked: Asked): Answer => {
  const request = readChatRequest(asked.body, asked.directives)
  const output = outputOf(request, asked.directives)
  const reported = reportedChatUsage(request, output, asked.directives)
  if (asked.stream) return streamAnswer(streamChatParts(asked, request, output, reported))
  return wholeAnswer(completionText(asked, request, output, reported), reported)
}

export const openaiErrorBody = ({ message, type, param, code }: Fault): string =>
  JSON.stringify({ error: { message, type, param, code } })

const errorEvent = (fault: Fault): string => `data: ${openaiErrorBody(fault)}\n\n`

export const chat: Dialect = {
  keyOf: bearerKeyOf,
  modelOf: modelInBody,
  streams: streamsByBody,
  check,
  answer,
  headersOf: (id) => ({ 'x-request-id': `req_${id.replaceAll('-', '')}` }),
  errorBody: openaiErrorBody,
  errorEvent,
  billsOn: ({ profile }) => profile === 'gemini',
}
