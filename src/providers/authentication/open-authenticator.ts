import type { Clock } from '../../runtime/clock.ts'
import type { Authenticator } from '../dialect/authenticator.ts'
import type { HttpClient } from '../http.ts'
import { type AwsAuthentication, issueForAws } from './aws.ts'
import { signForAws } from './aws-signature.ts'
import { type EntraApplication, issueForApplication, issueForManagedIdentity, type ManagedIdentity } from './entra.ts'
import { type GoogleCredentials, issueForGoogle } from './google.ts'
import type { CredentialFileReports } from './last-usable.ts'
import { type IssueCredential, RenewedCredential } from './renewed-credential.ts'

/** How an upstream is shown who calls, where that is no key of its own. */
export type Authentication = EntraApplication | ManagedIdentity | GoogleCredentials | AwsAuthentication

export interface AuthenticatorParts {
  /** For identity services on the network. */
  readonly http: HttpClient
  /** For the metadata service of this machine. */
  readonly metadataHttp: HttpClient
  readonly clock: Clock
  readonly files?: CredentialFileReports | undefined
}

type Headers = Readonly<Record<string, string>>

const bearer = /^Bearer /

const withHeaders = (issue: IssueCredential<Headers>, { clock }: AuthenticatorParts): Authenticator => {
  const headers = new RenewedCredential(issue, clock)
  return {
    authorize: ({ signal }) => headers.get(signal),
    discard: () => headers.discard(),
    secrets: () => headers.recent.flatMap(Object.values<string>).map((value) => value.replace(bearer, '')),
  }
}

const asBearer =
  (issue: IssueCredential<string>): IssueCredential<Headers> =>
  async (signal) => {
    const { value, expiresAtMs } = await issue(signal)
    return { value: { authorization: `Bearer ${value}` }, expiresAtMs }
  }

const signing = (aws: AwsAuthentication, parts: AuthenticatorParts): Authenticator => {
  const { clock } = parts
  const credential = new RenewedCredential(issueForAws(aws, parts), clock)
  return {
    authorize: async (request) => {
      const keys = await credential.get(request.signal)
      return signForAws(request, { keys, region: aws.region, service: 'bedrock', nowMs: clock() })
    },
    discard: () => credential.discard(),
    secrets: () =>
      credential.recent.flatMap(({ secretAccessKey, sessionToken = '' }) => [secretAccessKey, sessionToken]),
  }
}

export const openAuthenticator = (authentication: Authentication, parts: AuthenticatorParts): Authenticator => {
  const { http, metadataHttp, clock } = parts
  switch (authentication.type) {
    case 'entra_application':
      return withHeaders(asBearer(issueForApplication(authentication, http, clock)), parts)
    case 'azure_managed_identity':
      return withHeaders(asBearer(issueForManagedIdentity(authentication, metadataHttp, clock)), parts)
    case 'google_credentials':
      return withHeaders(issueForGoogle(authentication, parts), parts)
    case 'aws_keys':
    case 'aws_profile':
    case 'aws_role':
      return signing(authentication, parts)
  }
}
