import { type Fault, Refusal } from '../answers/faults.ts'
import { outputOf } from '../answers/output.ts'
import { bearerKeyOf, openaiErrorBody } from '../chat/dialect.ts'
import {
  type Answer,
  type Asked,
  type Dialect,
  modelInBody,
  namedEvent,
  streamAnswer,
  streamsByBody,
  wholeAnswer,
} from '../http/dialect.ts'
import { checkResponses } from './check.ts'
import { conversationOf, inputItems } from './input.ts'
import { itemsOf, wholeItem } from './items.ts'
import { type ResponsesRequest, readResponsesRequest } from './request.ts'
import { endOf, failedEnd, inProgress, type ResponseState, responseIdOf, responseOf } from './response.ts'
import type { StoredResponses } from './stored.ts'
import { streamResponsesParts } from './stream.ts'
import { reportedResponsesUsage } from './usage.ts'

const keep = (
  stored: StoredResponses,
  asked: Asked,
  request: ResponsesRequest,
  text: string,
  { output }: ResponseState,
): void => {
  const { input, previousId } = request
  stored.put({ id: responseIdOf(asked), text, input, output, previousId })
}

const requestOf = (stored: StoredResponses, { body, directives }: Asked): ResponsesRequest =>
  readResponsesRequest(body, inputItems(body, stored), conversationOf(body, stored), directives)

const answerFrom =
  (stored: StoredResponses) =>
  (asked: Asked): Answer => {
    const { directives } = asked
    const request = requestOf(stored, asked)
    const output = outputOf(request, directives)
    const failsAtOnce = directives.failed === true && directives.stream_error === undefined
    const items = failsAtOnce ? [] : itemsOf(asked, request, output)
    const usage = reportedResponsesUsage(asked, request, output)
    const end = directives.failed ? failedEnd(asked, usage) : endOf(asked, output, items.map(wholeItem), usage)
    const ended = responseOf(asked, request, end)
    const text = JSON.stringify(ended)
    if (request.isStored) keep(stored, asked, request, text, end)
    if (!asked.stream) return wholeAnswer(text, end.reported)
    const begun = responseOf(asked, request, inProgress)
    return streamAnswer(
      streamResponsesParts({ begun, ended, reported: end.reported }, items, directives.no_done !== true),
    )
  }

/** As OpenAI describes the event, or, before a response that fails, as it has been seen on the wire. */
const errorEvents =
  (stored: StoredResponses) =>
  (fault: Fault, asked: Asked, passed: number): string => {
    const { type, code, message, param } = fault
    if (!asked.directives.failed) return namedEvent({ type: 'error', code, message, param, sequence_number: passed })
    const error = namedEvent({ type: 'error', sequence_number: passed, error: { type, code, message, param } })
    const response = responseOf(asked, requestOf(stored, asked), failedEnd(asked, null))
    return error + namedEvent({ type: 'response.failed', sequence_number: passed + 1, response })
  }

export const responses = (stored: StoredResponses): Dialect => ({
  keyOf: bearerKeyOf,
  modelOf: modelInBody,
  streams: streamsByBody,
  check: checkResponses(stored),
  answer: answerFrom(stored),
  headersOf: (id) => ({ 'x-request-id': `req_${id.replaceAll('-', '')}` }),
  errorBody: openaiErrorBody,
  errorEvent: errorEvents(stored),
  billsOn: () => false,
})

const idIn = (url: string): string => /\/responses\/([^/?]+)/.exec(url)?.[1] ?? ''

const notFound = (id: string): Refusal => new Refusal(`Response with id '${id}' not found.`, { status: 404 })

export const storedBody =
  (stored: StoredResponses) =>
  (url: string): string => {
    const found = stored.get(idIn(url))
    if (found === undefined) throw notFound(idIn(url))
    return found.text
  }

export const deletedBody =
  (stored: StoredResponses) =>
  (url: string): string => {
    const id = idIn(url)
    if (!stored.delete(id)) throw notFound(id)
    return JSON.stringify({ id, object: 'response', deleted: true })
  }
