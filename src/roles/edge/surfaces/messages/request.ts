import { isObject, type JsonObject } from '../../../../encoding/json.ts'
import { refuseThread } from '../../../../providers/anthropic/references.ts'
import { requestReader, withoutRouting } from '../request.ts'
import type { MessagesRequest } from './request.types.ts'

const read = requestReader<MessagesRequest>('requests/messages-request.v1.json')

/** The body as a messages request. A thread is refused here, since no model of the surface has one. */
export const readMessagesRequest = (value: unknown): MessagesRequest => {
  const request = read(value)
  refuseThread(request)
  return request
}

/** The body as a request whose tokens are only counted: it limits no answer. */
export const readCountRequest = (value: unknown): MessagesRequest =>
  readMessagesRequest(isObject(value) ? { ...value, max_tokens: 1 } : value)

/** What of it goes upstream. */
export const countedBody = (request: MessagesRequest): JsonObject => {
  const { max_tokens: _ofAnswer, stream: _howAnswered, ...body } = withoutRouting(request)
  return body
}
