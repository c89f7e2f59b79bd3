import { readFile } from 'node:fs/promises'
import { loadSharedConfigFiles } from '@smithy/core/config'
import { asText, type JsonObject } from '../../encoding/json.ts'
import { faultCode } from '../../errors/gateway-error.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { HttpClient } from '../http.ts'
import type { AwsKeys } from './aws-signature.ts'
import { CredentialFault, readMetadata, requestIdentityService } from './identity-service.ts'
import { type CredentialFileReports, keepLastUsable } from './last-usable.ts'
import { authenticationLimits } from './limits.ts'
import type { Credential, IssueCredential } from './renewed-credential.ts'

interface InRegion {
  readonly region: string
}

interface AwsStaticKeys extends InRegion, AwsKeys {
  readonly type: 'aws_keys'
}

export interface AwsProfile extends InRegion {
  readonly type: 'aws_profile'
  readonly profile: string
  /** In AWS's format; keys may also be in `configFile`. */
  readonly credentialsFile: string
  readonly configFile: string
}

export interface AwsContainer {
  readonly url: string
  readonly token: string | null
  /** Read for each credential: it changes. */
  readonly tokenFile: string | null
}

export interface AwsRole extends InRegion {
  readonly type: 'aws_role'
  /** Of a container (ECS, EKS); null: the metadata service of a virtual machine at `metadataUrl`. */
  readonly container: AwsContainer | null
  readonly metadataUrl: string
}

export type AwsAuthentication = AwsStaticKeys | AwsProfile | AwsRole

/** Ways of a profile to its keys that would need other services of AWS, or a program. */
const unsupportedWays: readonly (readonly [member: string, way: string])[] = [
  ['web_identity_token_file', 'has a web identity'],
  ['role_arn', 'assumes a role'],
  ['sso_session', 'logs in by SSO'],
  ['sso_start_url', 'logs in by SSO'],
  ['login_session', 'logs in'],
  ['credential_process', 'runs a program'],
]

const missingKeys = (
  { profile, credentialsFile }: AwsProfile,
  members: Readonly<Record<string, string | undefined>>,
): CredentialFault => {
  const [member, way] = unsupportedWays.find(([name]) => members[name] !== undefined) ?? []
  return new CredentialFault(
    member === undefined
      ? `the profile ${profile} of ${credentialsFile} has no aws_access_key_id and aws_secret_access_key`
      : `the profile ${profile} ${way} (${member}), which is not supported: keep session keys in ${credentialsFile}, as \`aws configure export-credentials\` gives them, or use aws_role`,
  )
}

const keysOfProfile = async (asked: AwsProfile): Promise<AwsKeys> => {
  const { profile, credentialsFile, configFile } = asked
  const files = await loadSharedConfigFiles({
    filepath: credentialsFile,
    configFilepath: configFile,
    ignoreCache: true,
  }).catch((fault: unknown) => {
    throw new CredentialFault(`the credentials file ${credentialsFile} cannot be read: ${faultCode(fault)}`)
  })
  const members = { ...files.configFile[profile], ...files.credentialsFile[profile] }
  const { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey, aws_session_token: token } = members
  if (!accessKeyId || !secretAccessKey) throw missingKeys(asked, members)
  return { accessKeyId, secretAccessKey, ...(token ? { sessionToken: token } : {}) }
}

/** As a metadata service answers. Throws CredentialFault. */
const readIssuedKeys = (answer: JsonObject): Credential<AwsKeys> => {
  const [accessKeyId, secretAccessKey, sessionToken] = ['AccessKeyId', 'SecretAccessKey', 'Token'].map((member) =>
    asText(answer[member]),
  )
  if (!accessKeyId || !secretAccessKey || !sessionToken)
    throw new CredentialFault(`the metadata service answers without keys: ${asText(answer['Code'])}`)
  const expiresAtMs = Date.parse(asText(answer['Expiration']))
  return {
    value: { accessKeyId, secretAccessKey, sessionToken },
    expiresAtMs: Number.isNaN(expiresAtMs) ? null : expiresAtMs,
  }
}

const readContainerToken = async ({ token, tokenFile }: AwsContainer): Promise<string | null> => {
  if (tokenFile === null) return token
  const text = await readFile(tokenFile, 'utf8').catch((fault: unknown) => {
    throw new CredentialFault(`the token file ${tokenFile} cannot be read: ${faultCode(fault)}`)
  })
  return text.trim()
}

const tokenSeconds = '21600'

/** IMDSv2. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html */
const readInstanceKeys = async (metadataUrl: string, http: HttpClient, signal: AbortSignal): Promise<JsonObject> => {
  const ask = async (method: 'GET' | 'PUT', path: string, headers: Readonly<Record<string, string>>) => {
    const response = await requestIdentityService(http, {
      url: `${metadataUrl}/latest/${path}`,
      method,
      headers,
      signal,
    })
    if (!response.ok) throw new CredentialFault(`${new URL(metadataUrl).host} answers ${response.status}`)
    return (await response.text()).trim()
  }
  const token = await ask('PUT', 'api/token', { 'x-aws-ec2-metadata-token-ttl-seconds': tokenSeconds })
  const headers = { 'x-aws-ec2-metadata-token': token }
  const folder = 'meta-data/iam/security-credentials/'
  const [role = ''] = (await ask('GET', folder, headers)).split('\n')
  return readMetadata(http, { url: `${metadataUrl}/latest/${folder}${encodeURIComponent(role)}`, headers, signal })
}

const readRoleKeys = async ({ container, metadataUrl }: AwsRole, http: HttpClient, signal: AbortSignal) => {
  if (container === null) return readIssuedKeys(await readInstanceKeys(metadataUrl, http, signal))
  const token = await readContainerToken(container)
  const headers: Readonly<Record<string, string>> = token === null ? {} : { authorization: token }
  return readIssuedKeys(await readMetadata(http, { url: container.url, headers, signal }))
}

interface AwsParts {
  readonly metadataHttp: HttpClient
  readonly clock: Clock
  readonly files?: CredentialFileReports | undefined
}

/** Its file is read again from time to time: other programs renew its session tokens. */
const issueOfProfile = (profile: AwsProfile, { clock, files }: AwsParts): IssueCredential<AwsKeys> => {
  const read = keepLastUsable(profile.credentialsFile, () => keysOfProfile(profile), files)
  return async () => ({ value: await read(), expiresAtMs: clock() + authenticationLimits.profileReadMs })
}

export const issueForAws = (aws: AwsAuthentication, parts: AwsParts): IssueCredential<AwsKeys> => {
  switch (aws.type) {
    case 'aws_keys':
      return async () => ({ value: aws, expiresAtMs: null })
    case 'aws_profile':
      return issueOfProfile(aws, parts)
    case 'aws_role':
      return (signal) => readRoleKeys(aws, parts.metadataHttp, signal)
  }
}
