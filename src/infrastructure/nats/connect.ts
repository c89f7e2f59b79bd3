import { readFileSync } from 'node:fs'
import {
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  PermissionViolationError,
} from '@nats-io/transport-node'
import { limits } from '../../limits.ts'

export interface NatsOptions {
  /**
   * `nats://host:port` or `tls://host:port`, several separated by commas; a user and password in the first count where none are given apart.
   * With TLS, names: the client checks an address's certificate for the name `localhost`.
   */
  readonly url: string
  /** How the server's monitoring shows this process. */
  readonly name: string
  /** Replies come to this role's own inbox, so that a server's permissions can keep roles from reading each other's. */
  readonly role?: string
  readonly user?: string
  readonly password?: string
  readonly token?: string
  /** Paths of PEM files, read anew at every reconnect, since such files are rotated. */
  readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string }
  readonly credentialsFile?: string
}

const urlsOf = (url: string): readonly URL[] =>
  url.split(',').map((part) => new URL(part.includes('://') ? part.trim() : `nats://${part.trim()}`))

const userOf = (options: NatsOptions, first: URL | undefined): ConnectionOptions => {
  const user = options.user ?? decodeURIComponent(first?.username ?? '')
  const pass = options.password ?? decodeURIComponent(first?.password ?? '')
  return user === '' ? {} : { user, pass }
}

const credentialsOf = (options: NatsOptions, first: URL | undefined): ConnectionOptions => {
  const { credentialsFile, token } = options
  // Read anew at every reconnect, since such files are rotated.
  if (credentialsFile !== undefined)
    return { authenticator: credsAuthenticator(() => new Uint8Array(readFileSync(credentialsFile))) }
  return token === undefined ? userOf(options, first) : { token }
}

const tlsOf = (options: NatsOptions, first: URL | undefined): ConnectionOptions => {
  if (options.tls === undefined && first?.protocol !== 'tls:') return {}
  return { tls: options.tls ?? {} }
}

/** Where the replies to a role come, and what the log's followers receive: below this prefix. */
export const inboxPrefixOf = (role: string): string => `_INBOX_${role}`

const inboxOf = ({ role }: NatsOptions): ConnectionOptions =>
  role === undefined ? {} : { inboxPrefix: inboxPrefixOf(role) }

/** What the server's permissions refuse, which names the subject; null for any other error. No retry mends it. */
export const refusalOf = (error: unknown): PermissionViolationError | null => {
  if (error instanceof PermissionViolationError) return error
  return error instanceof Error && error.cause !== undefined ? refusalOf(error.cause) : null
}

/**
 * A connection that comes back for ever once it stood. Rejects when no server answers the first time.
 * Whoever connects closes.
 */
export const connectNats = (options: NatsOptions): Promise<NatsConnection> => {
  const urls = urlsOf(options.url)
  return connect({
    servers: urls.map(({ host }) => host),
    name: options.name,
    ...credentialsOf(options, urls[0]),
    ...tlsOf(options, urls[0]),
    ...inboxOf(options),
    timeout: limits.natsConnectMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: limits.natsReconnectMs,
    pingInterval: limits.natsPingMs,
    maxPingOut: limits.natsPingsOutMax,
    ignoreAuthErrorAbort: true,
    noAsyncTraces: true, // A stack trace for each request costs more than the request.
  })
}
