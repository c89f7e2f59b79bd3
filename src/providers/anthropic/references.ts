import type { JsonObject } from '../../encoding/json.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import { checkMembers } from '../canonical/allowed-members.ts'
import type { Provider } from '../dialect/provider.ts'
import { messagesMembers } from './allowed-members.ts'
import { isPresent } from './present.ts'

/** Official SDKs' tool runners begin with a thread; this error's details make them send the whole conversation. */
export const refuseThread = ({ thread }: JsonObject): void => {
  if (!isPresent(thread)) return
  const message = '`thread` is not available: send the whole conversation with every request.'
  const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
  throw new GatewayError('unsupported_parameter', message, { param: 'thread', details })
}

/** Throws `unsupported_parameter`: every workspace shares the account, and what it keeps has no known owner. */
export function* refuseAccountReferences(body: JsonObject, provider: Provider): Generator<void, void> {
  refuseThread(body)
  yield* checkMembers(messagesMembers, body, provider)
}
