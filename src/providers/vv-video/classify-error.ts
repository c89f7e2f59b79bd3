import type { VendorReply } from './reply.ts'

/**
 * What an answer means, for any kind of call. `busy`: nothing was done for reasons of our account, which apply to every
 * request; `put_off`: nothing was done, for reasons that need not apply to other requests; `failed`: the vendor broke,
 * and may have done it; `unclear`: unknown.
 */
export type VendorErrorClass = 'done' | 'busy' | 'put_off' | 'refused' | 'absent' | 'failed' | 'unclear'

interface ClassifiedReply {
  readonly meaning: VendorErrorClass
  readonly reason: string
}

const codes: { readonly [code: number]: readonly [VendorErrorClass, string] } = {
  1000: ['busy', 'credentials_refused'],
  1001: ['busy', 'credentials_refused'],
  1002: ['busy', 'credentials_refused'],
  1003: ['busy', 'credentials_refused'],
  1004: ['busy', 'credentials_refused'],
  1100: ['busy', 'account_unusable'],
  1101: ['busy', 'account_in_arrears'],
  1102: ['busy', 'account_used_up'],
  1103: ['refused', 'not_permitted'], // This model, or this way to use it.
  1200: ['refused', 'parameters_refused'],
  1201: ['refused', 'parameters_refused'],
  1202: ['absent', 'no_such_method'],
  1203: ['absent', 'no_such_resource'],
  1300: ['refused', 'policy'],
  1301: ['refused', 'policy'],
  1302: ['busy', 'rate_limited'],
  1303: ['busy', 'concurrency_limited'],
  1304: ['busy', 'address_not_allowed'],
  5000: ['failed', 'vendor_failed'],
  5001: ['failed', 'vendor_unavailable'],
  5002: ['failed', 'vendor_timeout'],
}

/** Nothing is done after any of these. A filter in front of the vendor may reject a single request. */
const idle: { readonly [status: number]: VendorErrorClass } = {
  401: 'busy',
  403: 'put_off',
  408: 'put_off',
  425: 'put_off',
  429: 'busy',
}

const byStatus = (status: number): VendorErrorClass => {
  const meaning = idle[status]
  if (meaning !== undefined) return meaning
  if (status === 404) return 'absent'
  if (status === 409) return 'unclear'
  return status >= 400 ? 'refused' : 'unclear'
}

const withoutEnvelope = ({ status, fault }: VendorReply): ClassifiedReply => {
  if (status === null) return { meaning: 'unclear', reason: fault }
  if (status === 413) return { meaning: 'refused', reason: 'http_413' }
  return { meaning: idle[status] ?? 'unclear', reason: `http_${status} ${fault}` }
}

/** The code is more specific than the status, except that after a 5xx it is unknown what was done. */
export const classifyError = (reply: VendorReply): ClassifiedReply => {
  const { status, envelope } = reply
  if (status === null || envelope === null) return withoutEnvelope(reply)
  const { code } = envelope
  const [meaning, word] = codes[code] ?? [byStatus(status), 'vendor_code']
  if (status >= 500) return { meaning: 'failed', reason: `http_${status} ${code}` }
  if (code === 0) return { meaning: status <= 299 ? 'done' : 'unclear', reason: `http_${status} 0` }
  return { meaning, reason: `${word} ${code}` }
}
