import type { RoutingRequest } from '../../../../domain/routing/plan.ts'
import { getValidator } from '../../../../encoding/schema-validation.ts'
import { refuseInvalid } from '../../../../http/validate.ts'
import type { JsonRecord } from '../../../dispatch.ts'

export interface SurfaceRequest {
  readonly model: string
  readonly stream?: boolean | null
  readonly extra_body?: { readonly models?: readonly string[]; readonly [member: string]: unknown }
  readonly models?: readonly string[]
  readonly route?: string
  readonly [member: string]: unknown
}

const routingMember = /^(?:models|route)\b/

/** The official Python SDKs move the members of `extra_body` to the top level; their callers wrote `extra_body`. */
const paramOf = (path: string): string => (routingMember.test(path) ? `extra_body.${path}` : path)

/** The reader throws `missing_required_parameter` or `invalid_value` with the path of what is wrong. */
export const requestReader = <Request extends SurfaceRequest>(schemaId: string): ((value: unknown) => Request) => {
  const validate = getValidator(schemaId)
  const isValid = (_value: unknown, problems: ReturnType<typeof validate>): _value is Request => problems.length === 0
  return (value) => {
    const problems = validate(value)
    if (isValid(value, problems)) return value
    refuseInvalid(problems, paramOf)
    throw new Error('a request without problems is valid')
  }
}

/** A chain replaces the model; that of `extra_body` overrides that of the top level. `route` alone has no effect. */
export const routingRequestOf = ({ model, models, extra_body }: SurfaceRequest): RoutingRequest => ({
  model,
  chain: extra_body?.models ?? models ?? null,
})

export const withoutRouting = (request: SurfaceRequest): JsonRecord => {
  const { extra_body, models, route, ...body } = request
  return extra_body === undefined && models === undefined && route === undefined ? request : body
}
