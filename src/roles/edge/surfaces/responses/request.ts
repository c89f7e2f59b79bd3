import { GatewayError } from '../../../../errors/gateway-error.ts'
import { requestReader } from '../request.ts'
import type { ResponsesRequest } from './request.types.ts'

const read = requestReader<ResponsesRequest>('requests/responses-request.v1.json')

/** Nobody would be there to be told what an abandoned answer cost. */
const refuseBackground = ({ background }: ResponsesRequest): void => {
  if (background === true)
    throw new GatewayError('unsupported_parameter', '`background` is not available: ask for a stream instead.', {
      param: 'background',
    })
}

/** The body as a responses request. Throws `unsupported_parameter` for one that is to be answered in the background. */
export const readResponsesRequest = (value: unknown): ResponsesRequest => {
  const request = read(value)
  refuseBackground(request)
  return request
}
