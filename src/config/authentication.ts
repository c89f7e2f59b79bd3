import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { AwsContainer, AwsProfile, AwsRole } from '../providers/authentication/aws.ts'
import type { Authentication } from '../providers/authentication/open-authenticator.ts'
import type { ConfigFile } from './config-file.types.ts'
import type { EnvironmentVariables } from './environment.ts'

type Entry = NonNullable<ConfigFile['providers']>[string]
type AuthenticationEntry = NonNullable<Entry['authentication']>
type AuthenticationType = AuthenticationEntry['type']
type Member = Exclude<keyof AuthenticationEntry, 'type'>

interface TypeRules {
  readonly dialect: Entry['dialect']
  readonly required: readonly Member[]
  readonly optional: readonly Member[]
}

const rules: { readonly [T in AuthenticationType]: TypeRules } = {
  entra_application: {
    dialect: 'azure',
    required: ['tenant_id', 'client_id', 'client_secret'],
    optional: ['authority', 'scope'],
  },
  azure_managed_identity: { dialect: 'azure', required: [], optional: ['client_id', 'scope'] },
  google_credentials: { dialect: 'vertex', required: [], optional: ['credentials_file'] },
  aws_keys: {
    dialect: 'bedrock',
    required: ['region', 'access_key_id', 'secret_access_key'],
    optional: ['session_token'],
  },
  aws_profile: { dialect: 'bedrock', required: ['region'], optional: ['profile', 'credentials_file'] },
  aws_role: { dialect: 'bedrock', required: ['region'], optional: [] },
}

export const authenticationSecrets: readonly Member[] = [
  'client_secret',
  'access_key_id',
  'secret_access_key',
  'session_token',
]

type Problem = readonly [member: string, message: string]

const isType = (type: unknown): type is AuthenticationType => typeof type === 'string' && Object.hasOwn(rules, type)

export const problemsOfAuthentication = (
  dialect: unknown,
  type: unknown,
  members: readonly string[],
): readonly Problem[] => {
  if (!isType(type)) return []
  const { dialect: its, required, optional } = rules[type]
  if (dialect !== its) return [['authentication.type', `${type} is only for the dialect ${its}`]]
  const allowed: readonly string[] = ['type', ...required, ...optional]
  return [
    ...required
      .filter((member) => !members.includes(member))
      .map((member): Problem => [`authentication.${member}`, `is required for ${type}`]),
    ...members
      .filter((member) => !allowed.includes(member))
      .map((member): Problem => [`authentication.${member}`, `is not for ${type}`]),
  ]
}

const scopeUnlessSet = ({ api_version: version }: Entry): string =>
  version === undefined ? 'https://ai.azure.com/.default' : 'https://cognitiveservices.azure.com/.default'

const identityEndpoint = (
  variables: EnvironmentVariables,
): { readonly url: string; readonly header: string } | null => {
  const url = variables.read('IDENTITY_ENDPOINT')
  const header = variables.read('IDENTITY_HEADER')
  return url === undefined || header === undefined ? null : { url, header }
}

/** Application default credentials, in Google's order; null: those of the machine. */
const findGoogleFile = (variables: EnvironmentVariables): string | null => {
  const named = variables.read('GOOGLE_APPLICATION_CREDENTIALS')
  if (named !== undefined) return named
  const folder = variables.read('CLOUDSDK_CONFIG') ?? join(variables.read('HOME') ?? '/', '.config', 'gcloud')
  const ofUser = join(folder, 'application_default_credentials.json')
  return existsSync(ofUser) ? ofUser : null
}

const machineMetadata = 'http://169.254.169.254'
const containerMetadata = 'http://169.254.170.2'

const awsProfile = (given: AuthenticationEntry, file: string | null, variables: EnvironmentVariables): AwsProfile => {
  const folder = join(variables.read('HOME') ?? '/', '.aws')
  return {
    type: 'aws_profile',
    region: given.region!,
    profile: given.profile ?? variables.read('AWS_PROFILE') ?? 'default',
    credentialsFile: file ?? variables.read('AWS_SHARED_CREDENTIALS_FILE') ?? join(folder, 'credentials'),
    configFile: variables.read('AWS_CONFIG_FILE') ?? join(folder, 'config'),
  }
}

/** The token is in a file that changes: `read` would take the file's present content for the variable without `_FILE`. */
const containerToken = (variables: EnvironmentVariables): Pick<AwsContainer, 'token' | 'tokenFile'> => {
  const tokenFile = variables.read('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE')
  return tokenFile === undefined
    ? { token: variables.read('AWS_CONTAINER_AUTHORIZATION_TOKEN') ?? null, tokenFile: null }
    : { token: null, tokenFile }
}

/** As AWS's own SDKs find it. */
const awsRole = (given: AuthenticationEntry, variables: EnvironmentVariables): AwsRole => {
  const relative = variables.read('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI')
  const url =
    relative === undefined ? variables.read('AWS_CONTAINER_CREDENTIALS_FULL_URI') : containerMetadata + relative
  return {
    type: 'aws_role',
    region: given.region!,
    container: url === undefined ? null : { url, ...containerToken(variables) },
    metadataUrl: variables.read('AWS_EC2_METADATA_SERVICE_ENDPOINT')?.replace(/\/+$/, '') ?? machineMetadata,
  }
}

interface AuthenticationReading {
  /** Paths of the configuration begin there. */
  readonly folder: string
  readonly variables: EnvironmentVariables
}

export const authenticationFrom = (
  entry: Entry,
  { folder, variables }: AuthenticationReading,
): Authentication | undefined => {
  const { authentication: given } = entry
  if (given === undefined) return undefined
  const file = given.credentials_file === undefined ? null : resolve(folder, given.credentials_file)
  const { scope = scopeUnlessSet(entry) } = given
  switch (given.type) {
    case 'entra_application':
      return {
        type: given.type,
        authority: given.authority ?? 'https://login.microsoftonline.com',
        tenantId: given.tenant_id!,
        clientId: given.client_id!,
        clientSecret: given.client_secret!,
        scope,
      }
    case 'azure_managed_identity':
      return {
        type: given.type,
        clientId: given.client_id ?? null,
        resource: scope.replace(/\/\.default$/, ''),
        endpoint: identityEndpoint(variables),
        metadataUrl: variables.read('AZURE_POD_IDENTITY_AUTHORITY_HOST') ?? machineMetadata,
      }
    case 'google_credentials':
      return {
        type: given.type,
        file: file ?? findGoogleFile(variables),
        metadataUrl: `http://${variables.read('GCE_METADATA_HOST') ?? 'metadata.google.internal'}`,
      }
    case 'aws_keys':
      return {
        type: given.type,
        region: given.region!,
        accessKeyId: given.access_key_id!,
        secretAccessKey: given.secret_access_key!,
        ...(given.session_token === undefined ? {} : { sessionToken: given.session_token }),
      }
    case 'aws_profile':
      return awsProfile(given, file, variables)
    case 'aws_role':
      return awsRole(given, variables)
  }
}
