import type { Signer } from '../../audit/note.ts'
import { SealFault, signSeal } from '../../audit/seal.ts'
import { isSameHead, SignedHeadFault, signedHeadOf } from '../../audit/signed-head.ts'
import type { SignedHeads } from '../../audit/signed-heads.ts'
import type { LogOf } from '../../log/event-log.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { SealState } from './seal-state.ts'
import type { SnapshotWriter } from './snapshot-writer.ts'

export type UnconfirmedSnapshots = Pick<SnapshotWriter, 'pending' | 'markConfirmed'>

interface CheckpointWriterParts {
  readonly log: Pick<LogOf<'CheckpointSealed'>, 'append'>
  readonly signer: Signer
  readonly heads: Pick<SignedHeads, 'advance'>
  readonly snapshots?: UnconfirmedSnapshots | undefined
  readonly clock: Clock
  /** Called when checkpoints begin not to be stored. */
  readonly onRefused: (fault: unknown) => void
  readonly onFault: (fault: unknown) => void
}

/** Signs checkpoints and appends them, one at a time. */
export class CheckpointWriter {
  readonly #parts: CheckpointWriterParts
  #appending: Promise<void> | null = null
  #isRefused = false
  #fault: unknown = null

  constructor(parts: CheckpointWriterParts) {
    this.#parts = parts
  }

  /** The last one was not stored: there was a fault, or more than it had been signed elsewhere. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /** Why the last one was not stored; null where it was, or another sealer is ahead. */
  get fault(): unknown {
    return this.#fault
  }

  get appending(): Promise<void> | null {
    return this.#appending
  }

  /** Seals what the state has taken; while an append is under way, waits for that one. */
  write(state: SealState): Promise<void> {
    this.#appending ??= this.#append(state)
      .catch(this.#parts.onFault)
      .finally(() => {
        this.#appending = null
      })
    return this.#appending
  }

  async #append(state: SealState): Promise<void> {
    try {
      this.#isRefused = !(await this.#isStored(state))
      this.#fault = null
    } catch (fault) {
      if (fault instanceof SignedHeadFault || fault instanceof SealFault) throw fault
      if (!this.#isRefused) this.#parts.onRefused(fault)
      this.#isRefused = true
      this.#fault = fault
    }
  }

  /** What is signed is on disk before there is a signature: after a crash nothing smaller or other is signed. */
  async #isStored(state: SealState): Promise<boolean> {
    const { log, signer, heads, snapshots, clock } = this.#parts
    if (state.isBehind) return false
    const next = state.next()
    const head = signedHeadOf(signer.name, next.tree)
    const held = await heads.advance(head)
    if (!isSameHead(held, head)) {
      state.expect(held)
      return false
    }
    const pending = snapshots?.pending ?? null
    const snapshot = pending !== null && pending.sequence <= next.tree.size ? pending : null
    const data = signSeal(next, signer, snapshot)
    await log.append([{ type: 'CheckpointSealed', data }])
    if (snapshot !== null) snapshots?.markConfirmed(snapshot)
    state.markStored(data, clock())
    return true
  }
}
