import {
  type AuthorizationServer,
  allowInsecureRequests,
  type ClientAuth,
  customFetch,
  genericTokenEndpointRequest,
  processGenericTokenEndpointResponse,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'oauth4webapi'
import type { Clock } from '../../runtime/clock.ts'
import type { HttpClient } from '../http.ts'
import { CredentialFault, requestIdentityService, tokenIn } from './identity-service.ts'
import type { Credential } from './renewed-credential.ts'

export interface TokenRequest {
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientAuthentication: ClientAuth
  readonly grantType: string
  readonly parameters: Readonly<Record<string, string>>
  /** Removed from whatever the endpoint answers. */
  readonly secrets: readonly string[]
}

const textOf = (body: unknown): string => (body === null || body === undefined ? '' : String(body))

const asFault = (fault: unknown, { tokenUrl, secrets }: TokenRequest): CredentialFault => {
  const { host } = new URL(tokenUrl)
  if (fault instanceof CredentialFault) return new CredentialFault(fault.message, secrets)
  if (fault instanceof ResponseBodyError)
    return new CredentialFault(`${host} refuses: ${fault.error}: ${fault.error_description ?? fault.status}`, secrets)
  if (fault instanceof WWWAuthenticateChallengeError)
    return new CredentialFault(`${host} answers ${fault.status}`, secrets)
  return new CredentialFault(`${host} gives no token: ${fault instanceof Error ? fault.message : 'unknown'}`, secrets)
}

/** A token of an OAuth 2.0 endpoint (RFC 6749, 7523). Throws CredentialFault. */
export const requestToken = async (
  http: HttpClient,
  request: TokenRequest,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Credential<string>> => {
  const { tokenUrl, clientId, clientAuthentication, grantType, parameters } = request
  const server: AuthorizationServer = { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl }
  const client = { client_id: clientId }
  try {
    const response = await genericTokenEndpointRequest(
      server,
      client,
      clientAuthentication,
      grantType,
      { ...parameters },
      {
        signal,
        [allowInsecureRequests]: new URL(tokenUrl).protocol === 'http:', // Where the configuration has such an address.
        [customFetch]: (url, { headers, body }) =>
          requestIdentityService(http, { url, method: 'POST', headers, body: textOf(body), signal }),
      },
    )
    return tokenIn(await processGenericTokenEndpointResponse(server, client, response), clock())
  } catch (fault) {
    throw asFault(fault, request)
  }
}
