import { adjustmentOf, type Correction, isPostable, reconciliationId } from '../audit/reconcile/correction.ts'
import { adjustmentKey } from '../domain/wallet/evolve.ts'
import { limits } from '../limits.ts'
import type { LedgerTail } from '../roles/ledger-tail.ts'
import type { EventLog } from '../roles/role.ts'

/** `stands`: the log had it already. `impossible`: its id is longer than the log takes. */
export type PostingOutcome = 'posted' | 'stands' | 'impossible' | 'not_posted'

/** The log that takes corrections, and a ledger that follows it. */
export interface CorrectedBooks {
  readonly log: Pick<EventLog, 'postToWallet'>
  readonly tail: Pick<LedgerTail, 'ledger' | 'reached'>
}

type OnOutcome = (correction: Correction, outcome: PostingOutcome) => void

/** Puts corrections into the log, or only says what it would put there. */
export class CorrectionPoster {
  readonly #books: CorrectedBooks
  readonly #post: boolean
  readonly #onOutcome: OnOutcome
  #waiting: Correction[] = []
  #lastSequence = 0

  constructor(books: CorrectedBooks, post: boolean, onOutcome: OnOutcome) {
    this.#books = books
    this.#post = post
    this.#onOutcome = onOutcome
  }

  async add(correction: Correction): Promise<void> {
    this.#waiting.push(correction)
    if (this.#waiting.length >= limits.correctionsPerPost) await this.#flush()
  }

  /** Resolves when all is in the log, and the ledger in memory has it. */
  async end(): Promise<void> {
    await this.#flush()
    await this.#books.tail.reached(this.#lastSequence)
  }

  async #flush(): Promise<void> {
    const byWorkspace = Map.groupBy(this.#waiting, ({ workspaceId }) => workspaceId)
    this.#waiting = []
    for (const [workspaceId, corrections] of byWorkspace) await this.#postTo(workspaceId, corrections)
  }

  async #postTo(workspaceId: string, corrections: readonly Correction[]): Promise<void> {
    const possible = corrections.filter(isPostable)
    const standing = this.#books.tail.ledger.wallets.get(workspaceId)?.references
    const fresh = possible.filter(
      ({ corrects, before }) => standing?.has(adjustmentKey(reconciliationId(corrects, before))) !== true,
    )
    if (this.#post && fresh.length > 0) {
      const { sequence } = await this.#books.log.postToWallet(workspaceId, fresh.map(adjustmentOf))
      this.#lastSequence = Math.max(this.#lastSequence, sequence)
    }
    for (const each of corrections) {
      if (!possible.includes(each)) this.#onOutcome(each, 'impossible')
      else if (!fresh.includes(each)) this.#onOutcome(each, 'stands')
      else this.#onOutcome(each, this.#post ? 'posted' : 'not_posted')
    }
  }
}
