import { GatewayError } from '../../../../errors/gateway-error.ts'
import { requestReader } from '../inference/request.ts'
import type { ResponsesRequest } from './request.types.ts'

const read = requestReader<ResponsesRequest>('requests/responses-request.v1.json')

/** An abandoned background answer would be charged without any client to report the cost to. */
const refuseBackground = ({ background }: ResponsesRequest): void => {
  if (background === true)
    throw new GatewayError('unsupported_parameter', '`background` is not available: ask for a stream instead.', {
      param: 'background',
    })
}

/** Throws `unsupported_parameter` for a request to be answered in the background. */
export const readResponsesRequest = (value: unknown): ResponsesRequest => {
  const request = read(value)
  refuseBackground(request)
  return request
}
