import type { Clock } from '../../runtime/clock.ts'
import type { Authenticator } from '../dialect/authenticator.ts'
import type { HttpClient } from '../http.ts'
import { type EntraApplication, issueForApplication, issueForManagedIdentity, type ManagedIdentity } from './entra.ts'
import { type IssueCredential, RenewedCredential } from './renewed-credential.ts'

/** How an upstream is shown who calls, where that is no key of its own. */
export type Authentication = EntraApplication | ManagedIdentity

export interface AuthenticatorParts {
  /** For identity services on the network. */
  readonly http: HttpClient
  /** For the metadata service of this machine. */
  readonly metadataHttp: HttpClient
  readonly clock: Clock
}

const withToken = (issue: IssueCredential<string>, { clock }: AuthenticatorParts): Authenticator => {
  const token = new RenewedCredential(issue, clock)
  return {
    authorize: async ({ signal }) => ({ authorization: `Bearer ${await token.get(signal)}` }),
    discard: () => token.discard(),
  }
}

export const openAuthenticator = (authentication: Authentication, parts: AuthenticatorParts): Authenticator => {
  const { http, metadataHttp, clock } = parts
  switch (authentication.type) {
    case 'entra_application':
      return withToken(issueForApplication(authentication, http, clock), parts)
    case 'azure_managed_identity':
      return withToken(issueForManagedIdentity(authentication, metadataHttp, clock), parts)
  }
}
