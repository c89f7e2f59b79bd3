import { existsSync } from 'node:fs'
import { join } from 'node:path'
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
}

export const authenticationSecrets: readonly Member[] = ['client_secret']

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

const azureMetadata = 'http://169.254.169.254'

export const authenticationFrom = (entry: Entry, variables: EnvironmentVariables): Authentication | undefined => {
  const { authentication: given } = entry
  if (given === undefined) return undefined
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
        metadataUrl: variables.read('AZURE_POD_IDENTITY_AUTHORITY_HOST') ?? azureMetadata,
      }
    case 'google_credentials':
      return {
        type: given.type,
        file: given.credentials_file ?? findGoogleFile(variables),
        metadataUrl: `http://${variables.read('GCE_METADATA_HOST') ?? 'metadata.google.internal'}`,
      }
  }
}
