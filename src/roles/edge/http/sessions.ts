import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto'
import { openSealedText, sealText } from '../../../encoding/sealed-text.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { HttpContext } from '../../../http/context.ts'
import type { EndUserKeyStore } from '../../../log/end-users.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { listenerLimits } from './limits.ts'

/** Who signed in. It is compared at each request with the key or token of now, so a session ends with it. */
export type SessionIdentity =
  | { readonly by: 'key'; readonly keyId: string }
  | { readonly by: 'token'; readonly name: string; readonly sha256: string }

interface OpenSession {
  readonly identity: SessionIdentity
  readonly expiresAtMs: number
  /** Sent in `X-CSRF-Token` with what may change something. */
  readonly csrfToken: string
}

interface SessionsParts {
  readonly store: Pick<EndUserKeyStore, 'find' | 'create'>
  readonly clock: Clock
  readonly randomText: () => string
}

const cookieName = 'gateway_session'
/** Of the page's own requests. */
const cookiePaths = ['/dashboard/session', '/admin/v1', '/v1']
const csrfHeader = 'X-CSRF-Token'
const purpose = 'session'
const keyBytes = 32
/** Beside the workspaces, whose ids begin with a letter or a digit. */
const storedAs = '_sessions'

const isSafe = ({ method }: HttpContext): boolean => method === 'GET' || method === 'HEAD'

const isOwnOrigin = (ctx: HttpContext): boolean => {
  const origin = ctx.get('Origin')
  return origin === '' || URL.parse(origin)?.host === ctx.host
}

/**
 * Throws `access_denied` for what another site's page sends. Browsers set both headers, and `Sec-Fetch-Site` (`none`: an
 * address that was typed) only where the page came by TLS or from this machine.
 */
const requireOwnSite = (ctx: HttpContext): void => {
  const site = ctx.get('Sec-Fetch-Site')
  const isOwn = site === '' ? isOwnOrigin(ctx) : site === 'same-origin' || (site === 'none' && isSafe(ctx))
  if (!isOwn) throw new GatewayError('access_denied', 'The page of another site may not use a session of this gateway.')
}

const equals = (given: string, expected: string): boolean =>
  timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'))

const isTls = (ctx: HttpContext): boolean => ctx.secure || ctx.get('Origin').startsWith('https:')

const setCookies = (ctx: HttpContext, value: string, maxAgeSeconds: number): void => {
  const attributes = `Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${isTls(ctx) ? '; Secure' : ''}`
  for (const path of cookiePaths) ctx.append('Set-Cookie', `${cookieName}=${value}; Path=${path}; ${attributes}`)
}

const sessionEnded = (): GatewayError =>
  new GatewayError(
    'invalid_api_key',
    'The session is over, or its key or token was revoked, replaced or has expired. Sign in again.',
  )

/**
 * Sessions of the page. The cookie has the identity and the end, sealed (AES-256-GCM) with a key that all edges share: it is
 * stored beside the log, as those of end users are, so that readers of the log cannot make a session.
 */
export class Sessions {
  readonly #parts: SessionsParts
  #key: Promise<Buffer> | null = null

  constructor(parts: SessionsParts) {
    this.#parts = parts
  }

  isPresent(ctx: HttpContext): boolean {
    return ctx.cookies.get(cookieName) !== undefined
  }

  /** `identify` throws what a request without a working key or token is refused with. */
  async start(ctx: HttpContext, identify: () => SessionIdentity): Promise<OpenSession> {
    requireOwnSite(ctx)
    const identity = identify()
    const { clock, randomText } = this.#parts
    const expiresAtMs = clock() + listenerLimits.sessionMs
    const key = await this.#findKey()
    const cookie = sealText(key, randomText(), purpose, Buffer.from(JSON.stringify({ identity, expiresAtMs })))
    setCookies(ctx, cookie, listenerLimits.sessionMs / 1_000)
    return { identity, expiresAtMs, csrfToken: csrfTokenOf(key, cookie) }
  }

  /** Null where there is none, or it is over. */
  async find(ctx: HttpContext): Promise<OpenSession | null> {
    const cookie = ctx.cookies.get(cookieName)
    if (cookie === undefined) return null
    const key = await this.#findKey()
    const opened = openSealedText(key, purpose, cookie)
    if (opened === undefined) return null
    const { identity, expiresAtMs }: Omit<OpenSession, 'csrfToken'> = JSON.parse(opened.toString())
    return expiresAtMs > this.#parts.clock() ? { identity, expiresAtMs, csrfToken: csrfTokenOf(key, cookie) } : null
  }

  /**
   * Who is signed in, as `find` has it now; undefined ends the session. Throws `invalid_api_key` where it is over,
   * `access_denied` for what the page itself did not send.
   */
  async require<Who>(ctx: HttpContext, find: (identity: SessionIdentity) => Who | undefined): Promise<Who> {
    requireOwnSite(ctx)
    const session = await this.find(ctx)
    const who = session === null ? undefined : find(session.identity)
    if (session === null || who === undefined) throw sessionEnded()
    if (isSafe(ctx) || equals(ctx.get(csrfHeader), session.csrfToken)) return who
    throw new GatewayError('access_denied', `With a session, a change takes its token in the header \`${csrfHeader}\`.`)
  }

  end(ctx: HttpContext): void {
    setCookies(ctx, '', 0)
  }

  #findKey(): Promise<Buffer> {
    this.#key ??= this.#readKey().catch((fault: unknown) => {
      this.#key = null
      throw fault
    })
    return this.#key
  }

  async #readKey(): Promise<Buffer> {
    const { store, randomText } = this.#parts
    const secret = (await store.find(storedAs)) ?? (await store.create(storedAs, randomText()))
    return Buffer.from(hkdfSync('sha256', secret, '', 'sessions of the page', keyBytes))
  }
}

const csrfTokenOf = (key: Buffer, cookie: string): string =>
  createHmac('sha256', key).update(`csrf ${cookie}`).digest('base64url')
