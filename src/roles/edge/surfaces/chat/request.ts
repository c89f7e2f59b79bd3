import type { Ask } from '../../../../domain/routing/plan.ts'
import { validatorOf } from '../../../../schema-validation.ts'
import type { JsonObject } from '../../../role.ts'
import { refuseInvalid } from '../../middleware/validate.ts'
import type { ChatCompletionRequest } from './request.types.ts'

const validate = validatorOf('requests/chat-completion-request.json')
const routingMember = /^(?:models|route)\b/

/** The official Python SDK moves the members of `extra_body` to the top level; its caller wrote `extra_body`. */
const paramOf = (path: string): string => (routingMember.test(path) ? `extra_body.${path}` : path)

const isValid = (_value: unknown, problems: ReturnType<typeof validate>): _value is ChatCompletionRequest =>
  problems.length === 0

/** The body as a chat request. Throws `missing_required_parameter` or `invalid_value` with the path of what is wrong. */
export const readChatRequest = (value: unknown): ChatCompletionRequest => {
  const problems = validate(value)
  if (isValid(value, problems)) return value
  refuseInvalid(problems, paramOf)
  throw new Error('a request without problems is valid')
}

/** A chain replaces the model; that of `extra_body` counts before that of the top level. `route` alone asks for nothing. */
export const askOf = ({ model, models, extra_body }: ChatCompletionRequest): Ask => ({
  model,
  chain: extra_body?.models ?? models ?? null,
})

/** What goes upstream: the request without the routing extensions. */
export const withoutRouting = (request: ChatCompletionRequest): JsonObject => {
  const { extra_body, models, route, ...body } = request
  return extra_body === undefined && models === undefined && route === undefined ? request : body
}
