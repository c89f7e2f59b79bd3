import { ClientSecretPost } from 'oauth4webapi'
import type { Clock } from '../../runtime/clock.ts'
import type { HttpClient } from '../http.ts'
import { readMetadata, tokenIn } from './identity-service.ts'
import type { IssueCredential } from './renewed-credential.ts'
import { requestToken } from './token-endpoint.ts'

export interface EntraApplication {
  readonly type: 'entra_application'
  /** The origin of Entra's cloud. */
  readonly authority: string
  readonly tenantId: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scope: string
}

export interface ManagedIdentity {
  readonly type: 'azure_managed_identity'
  /** Of a user-assigned identity; null: the machine's own. */
  readonly clientId: string | null
  readonly resource: string
  /** Of App Service and Container Apps; null: the metadata service of a virtual machine at `metadataUrl`. */
  readonly endpoint: { readonly url: string; readonly header: string } | null
  readonly metadataUrl: string
}

/** https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow */
export const issueForApplication =
  (application: EntraApplication, http: HttpClient, clock: Clock): IssueCredential<string> =>
  (signal) => {
    const { authority, tenantId, clientId, clientSecret, scope } = application
    return requestToken(
      http,
      {
        tokenUrl: `${authority}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`,
        clientId,
        clientAuthentication: ClientSecretPost(clientSecret),
        grantType: 'client_credentials',
        parameters: { scope },
        secrets: [clientSecret],
      },
      { clock, signal },
    )
  }

const identityRequest = ({ clientId, resource, endpoint, metadataUrl }: ManagedIdentity) => {
  const query = new URLSearchParams({
    'api-version': endpoint === null ? '2018-02-01' : '2019-08-01',
    resource,
    ...(clientId === null ? {} : { client_id: clientId }),
  })
  return endpoint === null
    ? { url: `${metadataUrl}/metadata/identity/oauth2/token?${query}`, headers: { metadata: 'true' } }
    : { url: `${endpoint.url}?${query}`, headers: { 'x-identity-header': endpoint.header } }
}

/** https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token */
export const issueForManagedIdentity =
  (identity: ManagedIdentity, http: HttpClient, clock: Clock): IssueCredential<string> =>
  async (signal) =>
    tokenIn(await readMetadata(http, { ...identityRequest(identity), signal }), clock())
