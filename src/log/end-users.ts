import { createHmac } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'
import { logLimits } from './limits.ts'

/** One key for each workspace, beside the log and on its servers: what is in the log cannot be erased. */
export interface EndUserKeyStore {
  /** Null where none is stored. Rejects with `log_unavailable`, as the others do. */
  find(workspaceId: string): Promise<string | null>
  /** Resolves with the key that is stored: another one where there was one before. */
  create(workspaceId: string, key: string): Promise<string>
  /** Overwrites and removes the key; false where there was none. */
  erase(workspaceId: string): Promise<boolean>
}

interface EndUserIdsParts {
  readonly store: Pick<EndUserKeyStore, 'find' | 'create'>
  readonly clock: Clock
  readonly randomText: () => string
}

interface KeptKey {
  readonly key: Promise<string | null>
  readonly readAtMs: number
}

/** Keys are read again after `endUserKeyMs`: for so long another process may use one that was erased. */
export class EndUserIds {
  readonly #parts: EndUserIdsParts
  readonly #kept = new Map<string, KeptKey>()

  constructor(parts: EndUserIdsParts) {
    this.#parts = parts
  }

  /** The id of an end user in the log: an HMAC-SHA256 in hex. Rejects with `log_unavailable`. */
  async resolveId(workspaceId: string, name: string): Promise<string> {
    const { store, randomText } = this.#parts
    const stored = await this.#keyOf(workspaceId)
    if (stored !== null) return idUnder(stored, name)
    const created = await store.create(workspaceId, randomText())
    this.#keep(workspaceId, Promise.resolve(created))
    return idUnder(created, name)
  }

  /** Null where the workspace has no key, and so no end user that can be found. Rejects with `log_unavailable`. */
  async findId(workspaceId: string, name: string): Promise<string | null> {
    const key = await this.#keyOf(workspaceId)
    return key === null ? null : idUnder(key, name)
  }

  async #keyOf(workspaceId: string): Promise<string | null> {
    const kept = this.#kept.get(workspaceId)
    if (kept !== undefined && this.#parts.clock() - kept.readAtMs < logLimits.endUserKeyMs) return kept.key
    const key = this.#parts.store.find(workspaceId)
    this.#keep(workspaceId, key)
    key.catch(() => this.#kept.delete(workspaceId))
    return key
  }

  #keep(workspaceId: string, key: Promise<string | null>): void {
    this.#kept.delete(workspaceId)
    this.#kept.set(workspaceId, { key, readAtMs: this.#parts.clock() })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > logLimits.endUserKeysMax && oldest !== undefined) this.#kept.delete(oldest)
  }
}

const idUnder = (key: string, name: string): string => createHmac('sha256', key).update(name).digest('hex')
