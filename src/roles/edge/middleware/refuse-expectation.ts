import { GatewayError } from '../../../errors/gateway-error.ts'
import type { EdgeMiddleware } from './context.ts'

/** As Node, which answers it, understands it. */
const isContinue = /(?:^|\W)100-continue(?:$|\W)/i

/** Throws `invalid_request`, 417, for a request that expects what there is not; HTTP/1.0 knows no expectations. */
export const refuseExpectation = (): EdgeMiddleware => (ctx, next) => {
  const { headers, httpVersion } = ctx.req
  if (headers.expect === undefined || isContinue.test(headers.expect) || httpVersion === '1.0') return next()
  throw new GatewayError('invalid_request', 'The only expectation that is understood is `100-continue`.', {
    status: 417,
  })
}
