import { areAllCorrections } from '../domain/wallet/charge-corrections.ts'
import { adjustmentKey } from '../domain/wallet/evolve.ts'
import type { EventLog } from '../log/event-log.ts'
import type { LedgerTail } from '../log/ledger-tail.ts'
import { type Correction, isPostable, reconciliationId, toAdjustment } from '../reconcile/correction.ts'
import { cliLimits } from './command-limits.ts'

/**
 * The second: the log had it already. `superseded`: the charge was corrected otherwise since it was computed.
 * `impossible`: its id or its amount is longer than the log takes.
 */
export type PostingOutcome = 'posted' | 'stands' | 'superseded' | 'impossible' | 'not_posted'

interface CorrectionContext {
  readonly log: Pick<EventLog, 'postToWallet'>
  readonly tail: Pick<LedgerTail, 'ledger' | 'waitForSequence'>
  /** Throws where the log has another charge than the tables, from which the correction was computed. */
  readonly assertLogged: (correction: Correction) => Promise<void>
}

/** Read once corrections are posted: the invoice is whole by then. */
type ReadPosting = () => NonNullable<Parameters<typeof toAdjustment>[1]>
type OnOutcome = (correction: Correction, outcome: PostingOutcome) => void

/** Without `posting` only reports what it would append. */
export class CorrectionPoster {
  readonly #context: CorrectionContext
  readonly #posting: ReadPosting | null
  readonly #onOutcome: OnOutcome
  #waiting: Correction[] = []

  constructor(context: CorrectionContext, posting: ReadPosting | null, onOutcome: OnOutcome) {
    this.#context = context
    this.#posting = posting
    this.#onOutcome = onOutcome
  }

  async add(correction: Correction): Promise<void> {
    this.#waiting.push(correction)
    if (this.#waiting.length >= cliLimits.correctionsPerPost) await this.flush()
  }

  /** Resolves when all is in the log, and the ledger in memory has it. */
  async flush(): Promise<void> {
    const byWorkspace = Map.groupBy(this.#waiting, ({ workspaceId }) => workspaceId)
    this.#waiting = []
    for (const [workspaceId, corrections] of byWorkspace) await this.#postTo(workspaceId, corrections)
  }

  async #postTo(workspaceId: string, corrections: readonly Correction[]): Promise<void> {
    const fresh = corrections.filter((each) => isPostable(each) && this.#isCurrent(each))
    if (this.#posting !== null && fresh.length > 0) {
      for (const each of fresh) await this.#context.assertLogged(each)
      const posting = this.#posting()
      const adjustments = fresh.map((each) => toAdjustment(each, posting))
      const { sequence } = await this.#context.log.postToWallet(workspaceId, adjustments)
      // Another process may have posted the same ids meanwhile, and the ledger applies the first.
      await this.#context.tail.waitForSequence(sequence)
    }
    for (const each of corrections) this.#onOutcome(each, this.#resolveOutcome(each, fresh.includes(each)))
  }

  #resolveOutcome(correction: Correction, isFresh: boolean): PostingOutcome {
    if (!isPostable(correction)) return 'impossible'
    if (isFresh && this.#posting === null) return 'not_posted'
    if (this.#findPostedPicos(correction) !== -correction.debitPicos) return 'superseded'
    return isFresh ? 'posted' : 'stands'
  }

  #isCurrent({ workspaceId, corrects, ledger }: Correction): boolean {
    const wallet = this.#context.tail.ledger.wallets.get(workspaceId)
    return wallet === undefined || areAllCorrections(ledger.adjustments, corrects, wallet)
  }

  /** The amount that was posted under the correction's id; undefined where none was. */
  #findPostedPicos({ workspaceId, corrects, correctionsBefore }: Correction): bigint | undefined {
    const { wallets } = this.#context.tail.ledger
    return wallets.get(workspaceId)?.references.get(adjustmentKey(reconciliationId(corrects, correctionsBefore)))
  }
}
