import { getValidator, type SchemaProblem } from '../encoding/schema-validation.ts'
import { GatewayError, invalidValue } from '../errors/gateway-error.ts'

const refusal = ({ path, message, keyword }: SchemaProblem): GatewayError => {
  if (path === '') return new GatewayError('invalid_value', `Invalid request body: ${message}.`)
  if (keyword === 'required')
    return new GatewayError('missing_required_parameter', `Missing required parameter: '${path}'.`, { param: path })
  return invalidValue(path, message)
}

/**
 * The value as the type of its schema. Throws `missing_required_parameter` or `invalid_value`; `paramOf` maps a path to
 * the one the caller used.
 */
export const readValid = <Value>(
  schemaId: string,
  value: unknown,
  paramOf: (path: string) => string = (path) => path,
): Value => {
  const [first] = getValidator(schemaId)(value)
  const isValid = (_value: unknown): _value is Value => first === undefined
  if (isValid(value)) return value
  throw refusal({ ...first!, path: paramOf(first!.path) })
}
