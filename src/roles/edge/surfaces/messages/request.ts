import { isObject, type JsonObject } from '../../../../encoding/json.ts'
import { refuseThread } from '../../../../providers/anthropic/references.ts'
import { requestReader, withoutRouting } from '../request.ts'
import type { MessagesRequest } from './request.types.ts'

const read = requestReader<MessagesRequest>('requests/messages-request.v1.json')

/** A thread is refused here, since no model of the surface supports one. */
export const readMessagesRequest = (value: unknown): MessagesRequest => {
  const request = read(value)
  refuseThread(request)
  return request
}

/** A request to count tokens has no `max_tokens`. */
export const readCountRequest = (value: unknown): MessagesRequest =>
  readMessagesRequest(isObject(value) ? { ...value, max_tokens: 1 } : value)

export const countedBody = (request: MessagesRequest): JsonObject => {
  const { max_tokens: _ofAnswer, stream: _howAnswered, ...body } = withoutRouting(request)
  return body
}
