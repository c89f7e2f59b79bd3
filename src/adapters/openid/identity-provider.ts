import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  calculatePKCECodeChallenge,
  discoveryRequest,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  getValidatedIdTokenClaims,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processUserInfoResponse,
  userInfoRequest,
  validateAuthResponse,
} from 'oauth4webapi'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { PersonSignIn } from '../../roles/edge/http/authenticate.ts'

interface IdentityProviderOptions {
  readonly issuer: string
  readonly clientId: string
  /** Null for a public client. */
  readonly clientSecret: string | null
  readonly scopes: readonly string[]
  readonly redirectUrl: string
}

type Claims = Readonly<Record<string, unknown>>

const authenticationOf = (server: AuthorizationServer, secret: string | null): ClientAuth => {
  if (secret === null) return None()
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_basic') ? ClientSecretBasic(secret) : ClientSecretPost(secret)
}

/** Authorization code with PKCE, state and nonce (OpenID Connect Core 1.0, RFC 7636, RFC 9207). */
export const createIdentityProvider = (options: IdentityProviderOptions): PersonSignIn['provider'] => {
  const { clientId, clientSecret, scopes, redirectUrl } = options
  const issuer = new URL(options.issuer)
  const client: Client = { client_id: clientId }
  const optionsWith = (signal: AbortSignal) => ({
    signal,
    [allowInsecureRequests]: issuer.protocol === 'http:', // The configuration allows it of this machine alone.
  })
  let known: Promise<AuthorizationServer> | null = null
  const discover = (signal: AbortSignal): Promise<AuthorizationServer> => {
    known ??= discoveryRequest(issuer, optionsWith(signal))
      .then((response) => processDiscoveryResponse(issuer, response))
      .catch((cause: unknown) => {
        known = null
        throw new GatewayError('upstream_error', 'The identity provider cannot be reached.', { cause })
      })
    return known
  }
  type OwnClaims = Claims & { readonly sub: string }
  const readClaims = async (server: AuthorizationServer, token: string, own: OwnClaims, signal: AbortSignal) => {
    if (server.userinfo_endpoint === undefined) return own
    const response = await userInfoRequest(server, client, token, optionsWith(signal))
    return { ...own, ...(await processUserInfoResponse(server, client, own.sub, response)) }
  }
  return {
    begin: async (signal) => {
      const { authorization_endpoint: endpoint } = await discover(signal)
      if (endpoint === undefined) throw new GatewayError('upstream_error', 'The identity provider has no sign-in page.')
      const pending = {
        state: generateRandomState(),
        nonce: generateRandomNonce(),
        verifier: generateRandomCodeVerifier(),
      }
      const url = new URL(endpoint)
      for (const [name, value] of [
        ['response_type', 'code'],
        ['client_id', clientId],
        ['redirect_uri', redirectUrl],
        ['scope', scopes.join(' ')],
        ['state', pending.state],
        ['nonce', pending.nonce],
        ['code_challenge', await calculatePKCECodeChallenge(pending.verifier)],
        ['code_challenge_method', 'S256'],
      ] as const)
        url.searchParams.set(name, value)
      return { url: url.href, pending }
    },
    finish: async ({ state, nonce, verifier }, parameters, signal) => {
      const server = await discover(signal)
      const validated = validateAuthResponse(server, client, parameters, state)
      const response = await authorizationCodeGrantRequest(
        server,
        client,
        authenticationOf(server, clientSecret),
        validated,
        redirectUrl,
        verifier,
        optionsWith(signal),
      )
      const tokens = await processAuthorizationCodeResponse(server, client, response, {
        expectedNonce: nonce,
        requireIdToken: true,
      })
      const own = getValidatedIdTokenClaims(tokens)
      if (own === undefined) throw new Error('the identity provider sent no ID token')
      return readClaims(server, tokens.access_token, { ...own }, signal)
    },
  }
}
