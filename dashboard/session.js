// @ts-check
/** @typedef {import('./types.d.ts').Wallet} Wallet */
/** @typedef {import('./types.d.ts').Administrator} Administrator */
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
 * Who is signed in. The key lives in this closure and goes out in the header `Authorization`, nowhere else: not into an address, a cookie or
 * any storage, so no other page can make a request in its name, and a reload forgets it.
 *
 * @param {string} secret
 * @param {(fault: ApiError) => void} onRefused called where the key does not work any more
 */
const asking = (secret, onRefused) => {
  const authorization = `Bearer ${secret}`
  /**
   * @param {string} method
   * @param {string} path
   * @param {{ body?: object, signal?: AbortSignal | undefined }} [options]
   */
  const ask = async (method, path, { body, signal } = {}) => {
    const response = await fetch(path, {
      method,
      headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    }).catch((fault) => {
      if (signal?.aborted) throw fault
      throw new ApiError(0, 'The gateway cannot be reached.')
    })
    if (response.ok) return response
    const fault = await refusalOf(response)
    if (fault.status === 401) onRefused(fault)
    throw fault
  }
  return ask
}

/** @typedef {ReturnType<typeof openSession>} Session */

/**
 * @param {ReturnType<typeof asking>} ask
 * @param {{ administrator: Administrator | null, workspace: { id: string, name: string } | null }} who
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

/**
 * Signs in with a workspace's key or an administrator's token. Throws ApiError where it is neither.
 *
 * @param {string} secret
 * @param {(fault: ApiError) => void} onRefused
 * @returns {Promise<Session>}
 */
export const signIn = async (secret, onRefused) => {
  let isIn = false
  const ask = asking(secret, (fault) => {
    if (isIn) onRefused(fault)
  })
  const looksLikeKey = secret.startsWith('sk-')
  const session = await openAs(ask, looksLikeKey).catch((fault) => {
    if (!looksLikeKey || fault.status !== 401) throw fault
    return openAs(ask, false).catch(() => Promise.reject(fault)) // An administrator's token may begin as keys do.
  })
  isIn = true
  return session
}

/**
 * @param {ReturnType<typeof asking>} ask
 * @param {boolean} isKey
 */
const openAs = async (ask, isKey) => {
  if (isKey) {
    const keyed = openSession(ask, { administrator: null, workspace: null })
    /** @type {Wallet} */
    const { workspace } = await keyed.ledger(null, '/wallet')
    return openSession(ask, { administrator: null, workspace })
  }
  const answer = await ask('GET', '/admin/v1/administrator')
  return openSession(ask, { administrator: await answer.json(), workspace: null })
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
