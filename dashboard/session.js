// @ts-check
/** @typedef {NonNullable<import('./types.d.ts').SessionState['signed_in']>} SignedIn */
/** @typedef {import('./types.d.ts').Permission} Permission */

/** What the gateway refused, or that it could not be reached (`status` 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {{ code?: string | null, param?: string | null, retryAfterSeconds?: number | null }} [details]
   */
  constructor(status, message, { code = null, param = null, retryAfterSeconds = null } = {}) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** @param {Response} response */
const refusalOf = async (response) => {
  const body = await response.json().catch(() => null)
  const { message = `The gateway answered ${response.status}.`, code = null, param = null } = body?.error ?? {}
  const retryAfter = Number(response.headers.get('Retry-After'))
  return new ApiError(response.status, message, { code, param, retryAfterSeconds: retryAfter > 0 ? retryAfter : null })
}

/** @param {Readonly<Record<string, string | number | undefined>>} query */
const queryText = (query) => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

/**
 * @param {string} method
 * @param {string} path
 * @param {{ headers?: Record<string, string>, body?: object | undefined, signal?: AbortSignal | undefined }} options
 */
const send = async (method, path, { headers = {}, body, signal }) => {
  const response = await fetch(path, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
    cache: 'no-store',
    credentials: 'same-origin',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
  }).catch((fault) => {
    if (signal?.aborted) throw fault
    throw new ApiError(0, 'The gateway cannot be reached.')
  })
  if (response.ok) return response
  throw await refusalOf(response)
}

/**
 * The session's cookie is the browser's, and no script can read it; what may change something also has the session's token,
 * which no other site's page can read.
 *
 * @param {string} csrfToken
 * @param {(fault: ApiError) => void} onRefused called where the session does not work any more
 */
const asking = (csrfToken, onRefused) => {
  /**
   * @param {string} method
   * @param {string} path
   * @param {{ body?: object, signal?: AbortSignal | undefined }} [options]
   */
  const ask = (method, path, options = {}) =>
    send(method, path, { ...options, headers: method === 'GET' ? {} : { 'x-csrf-token': csrfToken } }).catch(
      (fault) => {
        if (fault.status === 401) onRefused(fault)
        throw fault
      },
    )
  return ask
}

/** @typedef {ReturnType<typeof openSession>} Session */

/**
 * @param {ReturnType<typeof asking>} ask
 * @param {SignedIn} who
 */
const openSession = (ask, { administrator, workspace }) => {
  const isAdmin = administrator !== null
  /** @param {string | null} scope */
  const ledgerOf = (scope) => {
    if (!isAdmin) return '/v1/ledger'
    return scope === null ? '/admin/v1/ledger' : `/admin/v1/workspaces/${encodeURIComponent(scope)}/ledger`
  }
  return {
    isAdmin,
    workspace,
    /** By whom what is changed is recorded; undefined for a key. */
    actor: administrator?.actor,
    /**
     * Whether the role that signed in has the permission; the gateway checks it with each request.
     *
     * @param {Permission} permission
     */
    may: (permission) => administrator?.permissions.includes(permission) ?? permission.startsWith('read'),
    /**
     * @template Answer
     * @param {string} path
     * @param {Readonly<Record<string, string | number | undefined>>} [query]
     * @param {AbortSignal} [signal]
     * @returns {Promise<Answer>}
     */
    get: async (path, query = {}, signal) => (await ask('GET', path + queryText(query), { signal })).json(),
    /**
     * @template Answer
     * @param {string | null} scope
     * @param {string} path
     * @param {Readonly<Record<string, string | number | undefined>>} [query]
     * @param {AbortSignal} [signal]
     * @returns {Promise<Answer>}
     */
    ledger: async (scope, path, query = {}, signal) =>
      (await ask('GET', ledgerOf(scope) + path + queryText(query), { signal })).json(),
    /** Ends the session in this browser. */
    signOut: async () => {
      await ask('DELETE', sessionPath)
      otherPages.postMessage('changed')
    },
    /** @param {string} path */
    text: async (path) => (await ask('GET', path)).text(),
    /**
     * @param {string | null} scope
     * @param {string} path
     * @param {AbortSignal} signal
     */
    stream: (scope, path, signal) => ask('GET', ledgerOf(scope) + path, { signal }),
    /**
     * @template Answer
     * @param {'POST' | 'PUT' | 'PATCH' | 'DELETE'} method
     * @param {string} path
     * @param {object} [body]
     * @returns {Promise<Answer>}
     */
    change: async (method, path, body) => (await ask(method, path, body === undefined ? {} : { body })).json(),
  }
}

/** Whether all workspaces are shown. @param {Pick<import('./views.d.ts').ViewContext, 'session' | 'scope'>} context */
export const isOfAll = ({ session, scope }) => session.isAdmin && scope === null

const sessionPath = '/dashboard/session'

/** Other pages of this browser: a session that one of them starts or ends is that of all. */
const otherPages = new BroadcastChannel('gateway-session')
otherPages.addEventListener('message', () => location.reload())

/**
 * @param {Response} response
 * @param {(fault: ApiError) => void} onRefused
 */
const sessionIn = async (response, onRefused) => {
  /** @type {import('./types.d.ts').SessionState} */
  const { signed_in: signedIn, identity_provider: identityProvider } = await response.json()
  const session = signedIn === null ? null : openSession(asking(signedIn.csrf_token, onRefused), signedIn)
  return { session, identityProvider }
}

/**
 * The session that this browser has from before, null where there is none, and the identity provider's name.
 *
 * @param {(fault: ApiError) => void} onRefused called where it does not work any more
 */
export const resumeSession = async (onRefused) => sessionIn(await send('GET', sessionPath, {}), onRefused)

/**
 * Signs in with a workspace's key or an administrator's token. Throws ApiError where it is neither.
 *
 * @param {string} secret
 * @param {(fault: ApiError) => void} onRefused
 * @returns {Promise<Session>}
 */
export const signIn = async (secret, onRefused) => {
  const response = await send('POST', sessionPath, { headers: { authorization: `Bearer ${secret}` } })
  otherPages.postMessage('changed')
  return /** @type {Session} */ ((await sessionIn(response, onRefused)).session)
}

/**
 * Every row of a list, page by page, up to a bound.
 *
 * @template Row
 * @param {(cursor: string | undefined) => Promise<import('./types.d.ts').Page<Row>>} read
 * @param {number} [rowsMax]
 */
export const readAll = async (read, rowsMax = 10_000) => {
  /** @type {Row[]} */
  const rows = []
  /** @type {string | undefined} */
  let cursor
  do {
    const page = await read(cursor)
    rows.push(...page.data)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined && rows.length < rowsMax)
  return rows
}

/**
 * Every row of a list of the admin API.
 *
 * @template Row
 * @param {Session} session
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {Record<string, string>} [query]
 * @returns {Promise<Row[]>}
 */
export const readList = (session, path, signal, query = {}) =>
  readAll((cursor) => session.get(path, { ...query, cursor, limit: 1000 }, signal))

/**
 * The names of workspaces by their ids. Names are of use and not needed: none where they cannot be read.
 *
 * @param {Session} session
 * @param {AbortSignal} signal
 * @returns {Promise<ReadonlyMap<string, string>>}
 */
export const workspaceNames = async (session, signal) => {
  /** @type {readonly import('./types.d.ts').Workspace[]} */
  const all = await readList(session, '/admin/v1/workspaces', signal).catch(() => [])
  return new Map(all.map(({ id, name }) => [id, name]))
}

/**
 * The names of keys by their ids, of a workspace or of all. Names are of use and not needed: none where they cannot be read.
 *
 * @param {import('./views.d.ts').ViewContext} context
 * @returns {Promise<ReadonlyMap<string, string>>}
 */
export const keyNames = async (context) => {
  const { session, scope, signal } = context
  /** @type {Pick<import('./types.d.ts').Key, 'id' | 'name'>[]} */
  const keys = await (isOfAll(context)
    ? readList(session, '/admin/v1/keys', signal)
    : readAll((cursor) => session.ledger(scope, '/keys', { cursor, limit: 1000 }, signal))
  ).catch(() => [])
  return new Map(keys.map(({ id, name }) => [id, name]))
}
