import { type KeyLike, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ClientSecretPost, None } from 'oauth4webapi'
import { asText, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import { faultCode } from '../../errors/gateway-error.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { HttpClient } from '../http.ts'
import { CredentialFault, readMetadata, tokenIn } from './identity-service.ts'
import { type CredentialFileReports, keepLastUsable } from './last-usable.ts'
import type { Credential, IssueCredential } from './renewed-credential.ts'
import { requestToken, type TokenRequest } from './token-endpoint.ts'

export interface GoogleCredentials {
  readonly type: 'google_credentials'
  /** Of a service account, or of a user; null: the service account of the machine, at `metadataUrl`. */
  readonly file: string | null
  readonly metadataUrl: string
}

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const tokenUrlUnlessSet = 'https://oauth2.googleapis.com/token'
const assertionSeconds = 3_600

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/** The third part of a JSON Web Signature (RFC 7515). Throws where the key is no private one of RSA. */
export const signRs256 = (signed: string, privateKey: KeyLike): string =>
  sign('RSA-SHA256', Buffer.from(signed), privateKey).toString('base64url')

const readMember = (credentials: JsonObject, member: string): string => {
  const value = asText(credentials[member])
  if (value === '') throw new CredentialFault(`the credentials file has no ${member}`)
  return value
}

const assertionOf = (credentials: JsonObject, tokenUrl: string, nowMs: number): string => {
  const issuedAt = Math.floor(nowMs / 1_000)
  const claims = {
    iss: readMember(credentials, 'client_email'),
    scope,
    aud: tokenUrl,
    iat: issuedAt,
    exp: issuedAt + assertionSeconds,
  }
  const keyId = asText(credentials['private_key_id'])
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === '' ? {} : { kid: keyId }) }
  try {
    const signed = `${encode(header)}.${encode(claims)}`
    return `${signed}.${signRs256(signed, readMember(credentials, 'private_key'))}`
  } catch (fault) {
    if (fault instanceof CredentialFault) throw fault
    throw new CredentialFault(`the credentials file has a private_key that cannot sign: ${faultCode(fault)}`)
  }
}

/** https://developers.google.com/identity/protocols/oauth2/service-account */
const serviceAccountRequest = (credentials: JsonObject, tokenUrl: string, nowMs: number): TokenRequest => {
  const assertion = assertionOf(credentials, tokenUrl, nowMs)
  return {
    tokenUrl,
    clientId: readMember(credentials, 'client_email'),
    clientAuthentication: None(),
    grantType: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    parameters: { assertion },
    secrets: [assertion, readMember(credentials, 'private_key')],
  }
}

const userRequest = (credentials: JsonObject, tokenUrl: string): TokenRequest => {
  const clientSecret = readMember(credentials, 'client_secret')
  const refreshToken = readMember(credentials, 'refresh_token')
  return {
    tokenUrl,
    clientId: readMember(credentials, 'client_id'),
    clientAuthentication: ClientSecretPost(clientSecret),
    grantType: 'refresh_token',
    parameters: { refresh_token: refreshToken },
    secrets: [clientSecret, refreshToken],
  }
}

const tokenRequestFor = (credentials: JsonObject, nowMs: number): TokenRequest => {
  const { type, token_uri: tokenUri } = credentials
  const tokenUrl = asText(tokenUri) || tokenUrlUnlessSet
  if (type === 'service_account') return serviceAccountRequest(credentials, tokenUrl, nowMs)
  if (type === 'authorized_user') return userRequest(credentials, tokenUrl)
  throw new CredentialFault(
    `credentials of the type ${type} are not supported: give service_account or authorized_user`,
  )
}

/** Read for each token: a file that is replaced counts from the next one on. */
const readCredentials = async (file: string): Promise<JsonObject> => {
  const text = await readFile(file, 'utf8').catch((fault: unknown) => {
    throw new CredentialFault(`the credentials file ${file} cannot be read: ${faultCode(fault)}`)
  })
  const credentials = parseJson(text)
  if (!isObject(credentials)) throw new CredentialFault(`the credentials file ${file} is no JSON object`)
  return credentials
}

type Headers = Readonly<Record<string, string>>

const headersOf = ({ value, expiresAtMs }: Credential<string>, quotaProject: string): Credential<Headers> => ({
  value: {
    authorization: `Bearer ${value}`,
    ...(quotaProject === '' ? {} : { 'x-goog-user-project': quotaProject }), // Who pays for a user's calls.
  },
  expiresAtMs,
})

const fromMetadata = async (
  { metadataUrl }: GoogleCredentials,
  http: HttpClient,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Credential<Headers>> => {
  const url = `${metadataUrl}/computeMetadata/v1/instance/service-accounts/default/token`
  const answer = await readMetadata(http, { url, headers: { 'metadata-flavor': 'Google' }, signal })
  return headersOf(tokenIn(answer, clock()), '')
}

interface GoogleParts {
  readonly http: HttpClient
  readonly metadataHttp: HttpClient
  readonly clock: Clock
  readonly files?: CredentialFileReports | undefined
}

const fromFile = (file: string, { http, clock, files }: GoogleParts): IssueCredential<Headers> => {
  const readUsable = async (): Promise<JsonObject> => {
    const credentials = await readCredentials(file)
    tokenRequestFor(credentials, clock()) // Throws where they are of no use.
    return credentials
  }
  const read = keepLastUsable(file, readUsable, files)
  return async (signal) => {
    const credentials = await read()
    const token = await requestToken(http, tokenRequestFor(credentials, clock()), { clock, signal })
    return headersOf(token, asText(credentials['quota_project_id']))
  }
}

export const issueForGoogle = (google: GoogleCredentials, parts: GoogleParts): IssueCredential<Headers> =>
  google.file === null
    ? (signal) => fromMetadata(google, parts.metadataHttp, { clock: parts.clock, signal })
    : fromFile(google.file, parts)
