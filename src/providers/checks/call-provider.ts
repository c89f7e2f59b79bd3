import { faultText, GatewayError } from '../../errors/gateway-error.ts'
import { authenticated } from '../authentication/authenticated.ts'
import type { UpstreamDialect, UpstreamRequest } from '../dialect/dialect.ts'
import { type Provider, providerCredentials } from '../dialect/provider.ts'
import { refusalText } from '../dialect/refusal-text.ts'
import { withoutKeys } from '../dialect/scrub.ts'
import { readUpstreamRequestId } from '../dialect/upstream-request-id.ts'
import { type HttpClient, HttpFault, readBody } from '../http.ts'
import { checkLimits } from './limits.ts'

export interface CheckReply {
  /** Null where there was no answer. */
  readonly status: number | null
  readonly bytes: Uint8Array
  /** The upstream's own, without secrets; null after a success. */
  readonly error: string | null
  /** No credential could be had, or the upstream refused it. */
  readonly isUnauthenticated: boolean
  readonly requestId: string | null
}

type Readable = Pick<UpstreamDialect, 'readRefusal'>
type CheckRequest = Omit<UpstreamRequest, 'body'> & { readonly method: 'GET' | 'POST'; readonly body?: object }

export type CallProvider = (request: CheckRequest, dialect: Readable) => Promise<CheckReply>

const describeError = (provider: Provider, status: number, bytes: Uint8Array, dialect: Readable): string => {
  const text = (): string => refusalText(Buffer.from(bytes).toString('utf8'), provider)
  const message = dialect.readRefusal(provider, bytes)?.message ?? text().slice(0, checkLimits.errorCharactersMax)
  return `${status} ${message}`
}

/** Rethrows what is neither an upstream's fault nor a refusal of the request. */
export const describeFault = (provider: Provider, fault: unknown): string => {
  if (fault instanceof GatewayError) return fault.message
  if (!(fault instanceof HttpFault)) throw fault
  const { kind, cause } = fault
  return cause === undefined ? kind : `${kind}: ${withoutKeys(faultText(cause), providerCredentials(provider))}`
}

const unanswered = (provider: Provider, fault: unknown): CheckReply => ({
  status: null,
  bytes: new Uint8Array(),
  error: describeFault(provider, fault),
  isUnauthenticated: fault instanceof HttpFault && fault.kind === 'authentication',
  requestId: null,
})

const refusedStatuses: readonly number[] = [401, 403]
/** Of Google, for a wrong key. */
const refusedKey = /api key not valid/i

/** Calls as requests are: with the provider's credential, headers, proxy and authorities. */
export const callerOf =
  (provider: Provider, http: HttpClient): CallProvider =>
  async ({ body, ...request }, dialect) => {
    try {
      const response = await authenticated(http, provider.authenticator).request({
        ...request,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(checkLimits.callMs),
        connection: provider.connection,
        firstByteTimeoutMs: checkLimits.callMs,
      })
      const { status, headers } = response
      const bytes = (await readBody(response, checkLimits.bodyBytesMax)) ?? new Uint8Array()
      const error = status >= 200 && status <= 299 ? null : describeError(provider, status, bytes, dialect)
      const isUnauthenticated = refusedStatuses.includes(status) || (error !== null && refusedKey.test(error))
      return { status, bytes, error, isUnauthenticated, requestId: readUpstreamRequestId(provider, headers) }
    } catch (fault) {
      return unanswered(provider, fault)
    }
  }
