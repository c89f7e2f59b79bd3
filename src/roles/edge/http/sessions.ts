import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto'
import { openSealedText, sealText } from '../../../encoding/sealed-text.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { HttpContext } from '../../../http/context.ts'
import type { EndUserKeyStore } from '../../../log/end-users.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { listenerLimits } from './limits.ts'

/** Who signed in. It is compared at each request with the key, token or configuration of now. */
export type SessionIdentity =
  | { readonly by: 'key'; readonly keyId: string }
  | { readonly by: 'token'; readonly name: string; readonly sha256: string }
  | { readonly by: 'person'; readonly issuer: string; readonly name: string; readonly values: readonly string[] }

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

const pendingCookie = 'gateway_sign_in'
const pendingPurpose = 'sign-in'

interface CookieOptions {
  readonly isTls: boolean
  readonly lastsMs: number
}

const setCookies = (ctx: HttpContext, value: string, { isTls, lastsMs }: CookieOptions): void => {
  const attributes = `Max-Age=${lastsMs / 1_000}; HttpOnly; SameSite=Strict${isTls ? '; Secure' : ''}`
  for (const path of cookiePaths) ctx.append('Set-Cookie', `${cookieName}=${value}; Path=${path}; ${attributes}`)
}

/** `Lax`: the identity provider's page leads back here. */
const setPendingCookie = (ctx: HttpContext, value: string, { isTls, lastsMs }: CookieOptions): void =>
  ctx.append(
    'Set-Cookie',
    `${pendingCookie}=${value}; Path=/dashboard/session/oidc; Max-Age=${lastsMs / 1_000}; HttpOnly; SameSite=Lax${isTls ? '; Secure' : ''}`,
  )

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
    return this.startFor(ctx, identify(), { lastsMs: listenerLimits.sessionMs, isTls: isTls(ctx) })
  }

  /** Rejects with `log_unavailable`. */
  async startFor(ctx: HttpContext, identity: SessionIdentity, options: CookieOptions): Promise<OpenSession> {
    const cookie = await this.#seal(purpose, { value: identity, lastsMs: options.lastsMs })
    setCookies(ctx, cookie, options)
    const expiresAtMs = this.#parts.clock() + options.lastsMs
    return { identity, expiresAtMs, csrfToken: csrfTokenOf(await this.#findKey(), cookie) }
  }

  /** Null where there is none, or it is over. */
  async find(ctx: HttpContext): Promise<OpenSession | null> {
    const cookie = ctx.cookies.get(cookieName)
    const opened = await this.#open<SessionIdentity>(purpose, cookie)
    if (cookie === undefined || opened === null) return null
    const { value: identity, expiresAtMs } = opened
    return { identity, expiresAtMs, csrfToken: csrfTokenOf(await this.#findKey(), cookie) }
  }

  /** Keeps what `takePending` gives once the browser is back from the identity provider. */
  async keepPending(ctx: HttpContext, pending: object, { isTls }: Pick<CookieOptions, 'isTls'>): Promise<void> {
    requireOwnSite(ctx)
    const lastsMs = listenerLimits.pendingSignInMs
    setPendingCookie(ctx, await this.#seal(pendingPurpose, { value: pending, lastsMs }), { isTls, lastsMs })
  }

  async takePending<Pending>(ctx: HttpContext, { isTls }: Pick<CookieOptions, 'isTls'>): Promise<Pending | null> {
    const opened = await this.#open<Pending>(pendingPurpose, ctx.cookies.get(pendingCookie))
    setPendingCookie(ctx, '', { isTls, lastsMs: 0 })
    return opened?.value ?? null
  }

  /**
   * Who is signed in, as `find` has it now, and later by `findNow`; undefined ends the session. Throws `invalid_api_key`
   * where it is over, `access_denied` for what the page itself did not send.
   */
  async require<Who>(
    ctx: HttpContext,
    find: (identity: SessionIdentity) => Who | undefined,
  ): Promise<{ readonly who: Who; readonly findNow: () => Who | undefined }> {
    requireOwnSite(ctx)
    const session = await this.find(ctx)
    const who = session === null ? undefined : find(session.identity)
    if (session === null || who === undefined) throw sessionEnded()
    const { identity, expiresAtMs, csrfToken } = session
    const findNow = () => (expiresAtMs > this.#parts.clock() ? find(identity) : undefined)
    if (isSafe(ctx) || equals(ctx.get(csrfHeader), csrfToken)) return { who, findNow }
    throw new GatewayError('access_denied', `With a session, a change takes its token in the header \`${csrfHeader}\`.`)
  }

  end(ctx: HttpContext): void {
    setCookies(ctx, '', { isTls: isTls(ctx), lastsMs: 0 })
  }

  async #seal(
    purpose: string,
    { value, lastsMs }: { readonly value: object; readonly lastsMs: number },
  ): Promise<string> {
    const { clock, randomText } = this.#parts
    const sealed: Sealed<object> = { value, expiresAtMs: clock() + lastsMs }
    return sealText(await this.#findKey(), randomText(), purpose, Buffer.from(JSON.stringify(sealed)))
  }

  async #open<Value>(purpose: string, cookie: string | undefined): Promise<Sealed<Value> | null> {
    if (cookie === undefined) return null
    const bytes = openSealedText(await this.#findKey(), purpose, cookie)
    if (bytes === undefined) return null
    const sealed: Sealed<Value> = JSON.parse(bytes.toString())
    return sealed.expiresAtMs > this.#parts.clock() ? sealed : null
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

interface Sealed<Value> {
  readonly value: Value
  readonly expiresAtMs: number
}

const csrfTokenOf = (key: Buffer, cookie: string): string =>
  createHmac('sha256', key).update(`csrf ${cookie}`).digest('base64url')
