import { readFileSync } from 'node:fs'
import {
  type Authenticator,
  AuthorizationError,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  PermissionViolationError,
  TimeoutError,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node'
import { natsLimits } from './limits.ts'

interface NatsOptions {
  /**
   * `nats://host:port` or `tls://host:port`, several separated by commas; a user and password in the first apply when
   * none are given separately. Use host names with TLS: the client checks an IP address's certificate for the name
   * `localhost`.
   */
  readonly url: string
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

/**
 * Read anew at every reconnect, since such files are rotated. What an authenticator throws closes the client for good, so
 * where the file cannot be used at that moment, what it held before is sent.
 */
const authenticateFrom = (credentialsFile: string): Authenticator => {
  let usable: Uint8Array | null = null
  return (nonce) => {
    try {
      const read = new Uint8Array(readFileSync(credentialsFile))
      const auth = credsAuthenticator(read)(nonce)
      usable = read
      return auth
    } catch (fault) {
      if (usable === null) throw fault
      return credsAuthenticator(usable)(nonce)
    }
  }
}

const credentialsOf = (options: NatsOptions, first: URL | undefined): ConnectionOptions => {
  const { credentialsFile, token } = options
  if (credentialsFile !== undefined) return { authenticator: authenticateFrom(credentialsFile) }
  return token === undefined ? userOf(options, first) : { token }
}

const tlsOf = (options: NatsOptions, first: URL | undefined): ConnectionOptions => {
  if (options.tls === undefined && first?.protocol !== 'tls:') return {}
  return { tls: options.tls ?? {} }
}

export const buildInboxPrefix = (role: string): string => `_INBOX_${role}`

const inboxOf = ({ role }: NatsOptions): ConnectionOptions =>
  role === undefined ? {} : { inboxPrefix: buildInboxPrefix(role) }

/** The violation in an error or its causes, which names the subject; null for any other. Retrying is useless. */
export const findPermissionViolation = (error: unknown): PermissionViolationError | null => {
  if (error instanceof PermissionViolationError) return error
  return error instanceof Error && error.cause !== undefined ? findPermissionViolation(error.cause) : null
}

const unreachableReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'the host name cannot be looked up',
  ETIMEDOUT: 'no answer',
}

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : '')

const isOfTls = (error: Error): boolean =>
  /CERT|VERIFY|ISSUER|^ERR_(TLS|SSL|OSSL)|^EPROTO$/.test(codeOf(error)) || /\btls\b/i.test(error.message)

/** A server that requires a client certificate, or does not trust ours, only closes the connection. */
const describeTimeout = (usesTls: boolean): string =>
  `does not answer within ${natsLimits.natsConnectAttempts} attempts of ${natsLimits.natsConnectMs} ms${usesTls ? '; one that asks for a client certificate is silent to all but those it trusts' : ''}`

const describeFailure = (error: Error, usesTls: boolean): string => {
  if (error instanceof TimeoutError) return describeTimeout(usesTls)
  if (error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError)
    return `refuses this user: ${error.message}`
  if (isOfTls(error)) return `cannot be spoken to with TLS: ${error.message}`
  return `cannot be reached: ${unreachableReasons[codeOf(error)] ?? error.message}`
}

/** Hosts and ports alone: URLs may contain a password. */
const toConnectError = (error: unknown, hosts: readonly string[], usesTls: boolean): Error => {
  const fault = error instanceof Error ? error : new Error(String(error))
  return new Error(`NATS at ${hosts.join(', ')} ${describeFailure(fault, usesTls)}`, { cause: fault.cause })
}

const optionsOf = (
  options: NatsOptions,
  first: URL | undefined,
  servers: string[],
  tls: ConnectionOptions,
): ConnectionOptions => ({
  servers,
  name: options.name,
  ...credentialsOf(options, first),
  ...tls,
  ...inboxOf(options),
  timeout: natsLimits.natsConnectMs,
  maxReconnectAttempts: -1,
  reconnectTimeWait: natsLimits.natsReconnectMs,
  pingInterval: natsLimits.natsPingMs,
  maxPingOut: natsLimits.natsPingsOutMax,
  ignoreAuthErrorAbort: true,
  noAsyncTraces: true, // A stack trace for each request costs more than the request.
})

/** Reconnects for ever once connected. Rejects when no server accepts one of the first attempts. The caller closes it. */
export const connectNats = async (options: NatsOptions): Promise<NatsConnection> => {
  const urls = urlsOf(options.url)
  const hosts = urls.map(({ host }) => host)
  const tls = tlsOf(options, urls[0])
  for (let attempt = 1; ; attempt += 1)
    try {
      return await connect(optionsOf(options, urls[0], hosts, tls))
    } catch (error) {
      if (!(error instanceof TimeoutError) || attempt === natsLimits.natsConnectAttempts)
        throw toConnectError(error, hosts, 'tls' in tls)
    }
}
