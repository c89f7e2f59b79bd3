import type { SchemaProblem } from '../encoding/schema-validation.ts'
import { GatewayError } from '../errors/gateway-error.ts'

const refusal = ({ path, message, keyword }: SchemaProblem): GatewayError => {
  if (path === '') return new GatewayError('invalid_value', `Invalid request body: ${message}.`)
  if (keyword === 'required')
    return new GatewayError('missing_required_parameter', `Missing required parameter: '${path}'.`, { param: path })
  return new GatewayError('invalid_value', `Invalid value for '${path}': ${message}.`, { param: path })
}

/** Throws `missing_required_parameter` or `invalid_value`; `paramOf` maps a path to the one the caller used. */
export const refuseInvalid = (problems: readonly SchemaProblem[], paramOf: (path: string) => string): void => {
  const [first] = problems
  if (first !== undefined) throw refusal({ ...first, path: paramOf(first.path) })
}
