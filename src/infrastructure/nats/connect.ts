import { readFileSync } from 'node:fs'
import {
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  type TlsOptions,
} from '@nats-io/transport-node'
import { limits } from '../../limits.ts'

export interface NatsOptions {
  /** `nats://host:port` or `tls://host:port`, several separated by commas; a user and password in the first count where none are given apart. */
  readonly url: string
  /** How the server's monitoring shows this process. */
  readonly name: string
  readonly user?: string
  readonly password?: string
  readonly token?: string
  readonly tls?: TlsOptions
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
    timeout: limits.natsConnectMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: limits.natsReconnectMs,
    pingInterval: limits.natsPingMs,
    maxPingOut: limits.natsPingsOutMax,
    ignoreAuthErrorAbort: true,
    noAsyncTraces: true, // A stack trace for each request costs more than the request.
  })
}
