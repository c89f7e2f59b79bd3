import { GatewayError } from '../../errors/gateway-error.ts'

/** The value at `param` has no counterpart in the upstream's format; `why` ends the sentence. */
export const unsupported = (param: string, why: string): GatewayError =>
  new GatewayError('unsupported_parameter', `Unsupported parameter: '${param}' ${why}.`, { param })

/** The value at `param` is an id of the gateway's own account at the provider, which every workspace shares. */
export const refuseProviderState = (param: string): GatewayError =>
  new GatewayError(
    'unsupported_parameter',
    `\`${param}\` names something that the provider keeps and that cannot be tied to your workspace; send its content instead.`,
    { param },
  )

/** Of a format that takes a schema alone. */
export const refuseJsonFormat = (): GatewayError =>
  unsupported('response_format', 'of type json_object is not available for this model: give a schema')
