import { GatewayError } from '../../errors.ts'

/** What stands at `param` cannot be asked of a model that is spoken to in another format; `why` ends the sentence. */
export const unsupported = (param: string, why: string): GatewayError =>
  new GatewayError('unsupported_parameter', `Unsupported parameter: '${param}' ${why}.`, { param })

export const invalid = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_value', `Invalid value for '${param}': ${message}.`, { param })
