import { resolve } from 'node:path'
import type { ProcessRole } from '../roles/role.ts'
import type { ConfigProblem } from './config-error.ts'
import type { ConfigFile } from './config-file.types.ts'
import type { EnvironmentVariables } from './environment.ts'
import { readsDatabase } from './roles.ts'

export interface External {
  /** Null for a role that needs no database. */
  readonly databaseUrl: string | null
  readonly nats: NatsConfig
}

export interface NatsConfig {
  /** Several servers of a cluster are separated by commas. */
  readonly url: string
  readonly monitoringUrl: string | undefined
  readonly user: string | undefined
  readonly password: string | undefined
  readonly credentialsFile: string | undefined
  readonly tls: TlsFiles | undefined
}

interface TlsFiles {
  readonly caFile?: string
  readonly certFile?: string
  readonly keyFile?: string
}

const tlsFrom = (tls: NonNullable<ConfigFile['nats']>['tls'], folder: string): TlsFiles | undefined => {
  if (tls === undefined) return undefined
  const { ca_file, cert_file, key_file } = tls
  return {
    ...(ca_file === undefined ? {} : { caFile: resolve(folder, ca_file) }),
    ...(cert_file === undefined ? {} : { certFile: resolve(folder, cert_file) }),
    ...(key_file === undefined ? {} : { keyFile: resolve(folder, key_file) }),
  }
}

/** With the variable or path in the file that holds it: problems name that, since the text may hold a password. */
interface Address {
  readonly path: string
  readonly text: string
}

interface Addresses {
  readonly database: Address | undefined
  readonly nats: Address | undefined
  readonly monitoring: Address | undefined
}

const addressesFrom = (file: ConfigFile, variables: EnvironmentVariables, role: ProcessRole): Addresses => {
  const addressAt = (variable: string, path: string, inFile: string | undefined): Address | undefined => {
    const inEnvironment = variables.read(variable)
    if (inEnvironment !== undefined) return { path: variable, text: inEnvironment }
    return inFile === undefined ? undefined : { path, text: inFile }
  }
  return {
    database: readsDatabase(role) ? addressAt('DATABASE_URL', 'database_url', file.database_url) : undefined,
    nats: addressAt('NATS_URL', 'nats.url', file.nats?.url),
    monitoring: addressAt('NATS_MONITORING_URL', 'nats.monitoring_url', file.nats?.monitoring_url),
  }
}

const isPercentEncoded = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const urlWith = (text: string, protocols: readonly string[]): URL | null => {
  const url = URL.parse(text)
  if (url === null || !protocols.includes(url.protocol)) return null
  return [url.username, url.password, url.hostname, url.pathname].every(isPercentEncoded) ? url : null
}

/** An unescaped `#`, `?` or `/` in a password ends the host before it: the rest is no part of such an address. */
const isNatsServer = (text: string): boolean => {
  const url = urlWith(text, ['nats:', 'tls:'])
  if (url === null || url.hostname === '') return false
  return ['', '/'].includes(url.pathname) && url.search === '' && url.hash === ''
}

const isDatabase = (text: string): boolean => {
  const url = urlWith(text, ['postgres:', 'postgresql:'])
  if (url === null || url.hash !== '' || url.pathname.includes('@')) return false
  return url.username !== '' || !url.search.includes('@')
}

const isMonitoring = (text: string): boolean => {
  const url = urlWith(text, ['http:', 'https:'])
  return url !== null && url.hash === '' && !text.includes('@')
}

const encoding = 'what is special in a user or password is percent-encoded, as # is by %23'

/** Problems name where an address is set, and never its text. */
const problemsOfAddresses = ({ database, nats, monitoring }: Addresses): readonly ConfigProblem[] => {
  const check = (
    address: Address | undefined,
    isRight: (text: string) => boolean,
    message: string,
  ): readonly ConfigProblem[] =>
    address === undefined || isRight(address.text) ? [] : [{ path: address.path, message }]
  const areNatsServers = (text: string): boolean => text.split(',').every((each) => isNatsServer(each.trim()))
  return [
    ...check(database, isDatabase, `must be a postgres:// or postgresql:// URL; ${encoding}`),
    ...check(nats, areNatsServers, `must be nats:// or tls:// URLs with a host, separated by commas; ${encoding}`),
    ...check(monitoring, isMonitoring, 'must be an http:// or https:// URL without a user'),
  ]
}

const areEmbedded = ({ database, nats }: Addresses): boolean => database === undefined && nats === undefined

const problemsOfServers = (addresses: Addresses, role: ProcessRole): readonly ConfigProblem[] => {
  const { database, nats } = addresses
  if (areEmbedded(addresses) || (nats !== undefined && (database !== undefined || !readsDatabase(role)))) return []
  const message = 'set both DATABASE_URL and NATS_URL, or neither for embedded servers'
  return [{ path: nats === undefined ? 'nats.url' : 'database_url', message }]
}

const externalAt = ({ database, nats, monitoring }: Addresses, file: ConfigFile, folder: string): External | null => {
  if (nats === undefined) return null
  const { user, password, credentials_file, tls } = file.nats ?? {}
  return {
    databaseUrl: database?.text ?? null,
    nats: {
      url: nats.text,
      monitoringUrl: monitoring?.text,
      user,
      password,
      credentialsFile: credentials_file === undefined ? undefined : resolve(folder, credentials_file),
      tls: tlsFrom(tls, folder),
    },
  }
}

/** `external` is null where both servers are embedded, and where one of two is missing, which is a problem. */
export const externalFrom = (
  file: ConfigFile,
  {
    folder,
    role,
    variables,
    problems,
  }: {
    readonly folder: string
    readonly role: ProcessRole
    readonly variables: EnvironmentVariables
    readonly problems: ConfigProblem[]
  },
): { readonly external: External | null; readonly areEmbedded: boolean } => {
  const addresses = addressesFrom(file, variables, role)
  problems.push(...problemsOfAddresses(addresses), ...problemsOfServers(addresses, role))
  return { external: externalAt(addresses, file, folder), areEmbedded: areEmbedded(addresses) }
}
