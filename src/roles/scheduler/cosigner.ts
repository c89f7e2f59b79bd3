import { formatAddCheckpoint, readAddReply, type WitnessClient } from '../../audit/add-checkpoint.ts'
import type { WitnessKey } from '../../audit/cosignature.ts'
import { TreeGrowth } from '../../audit/merkle.ts'
import { NoteFault, type Verifier } from '../../audit/note.ts'
import { buildTree, type Seal, SealFault } from '../../audit/seal.ts'
import { readCheckpoints, verifyCheckpoint } from '../../audit/verified-checkpoints.ts'
import { faultText } from '../../errors/gateway-error.ts'
import type { CheckpointCosigned } from '../../events/types.ts'
import type { LogOf } from '../../log/event-log.ts'
import type { FrameSource } from '../../log/raw-frames.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { ThrottledWarning } from '../../runtime/throttled-warning.ts'
import { waitAtMost } from '../../runtime/within.ts'
import type { RunningRole } from '../role.ts'
import { schedulerLimits } from './limits.ts'
import type { SealObserver } from './seal-state.ts'

export interface CosignerParts {
  readonly log: Pick<LogOf<'CheckpointCosigned'>, 'append'> & FrameSource
  /** Of the log's own keys. */
  readonly verifiers: readonly Verifier[]
  readonly witnesses: readonly WitnessClient[]
  /** Between two checkpoints that are sent to one witness. */
  readonly everyMs: number
  readonly clock: Clock
  readonly logger: Logger
  /** Called where a witness has cosigned more than the log has. */
  readonly onAhead: (fault: SealFault) => void
}

/** False where leaves between the two are missing. */
const extend = (growth: TreeGrowth, { from, leaves }: Seal): boolean => {
  const { size } = growth.tree
  if (from > size) return false
  for (const leaf of leaves.slice(size - from)) growth.append(leaf)
  return true
}

/** The log may hold a checkpoint that has not come yet. Throws SealFault where it cannot. */
const compareWithLog = async ({ log }: CosignerParts, { name }: WitnessKey, size: number): Promise<void> => {
  const last = await log.lastSequence()
  if (last < size)
    throw new SealFault(`the witness ${name} has cosigned ${size} frames, and the log ends at frame ${last}`)
}

/** From the checkpoints of the log after a size; null for none. */
const readGrowth = async ({ log, verifiers }: CosignerParts, from: number): Promise<TreeGrowth | null> => {
  if (from === 0) return null
  let growth: TreeGrowth | null = null
  for await (const frames of log.read(from + 1, await log.lastSequence()))
    for (const checkpoint of frames.flatMap(readCheckpoints)) {
      const seal = verifyCheckpoint(checkpoint, verifiers)
      if (growth === null && seal.from <= from && from <= seal.size)
        growth = new TreeGrowth(buildTree({ ...seal, leaves: seal.leaves.slice(0, from - seal.from) }))
      if (growth !== null) extend(growth, seal)
    }
  if (growth === null) throw new Error(`no checkpoint of the log contains its frame ${from}`)
  return growth
}

/** Sends the newest checkpoint of the log to one witness, now and then, and records its cosignature. */
class WitnessSession {
  readonly #parts: CosignerParts
  readonly #witness: WitnessClient
  readonly #warning: ThrottledWarning
  #newest: Seal | null = null
  /** From what the witness has cosigned last up to the newest checkpoint; null where that is nothing, or not known. */
  #growth: TreeGrowth | null = null
  /** From the checkpoint that is being sent. */
  #next: TreeGrowth | null = null
  /** Checkpoints that came while the log was read. */
  #arrived: Seal[] = []
  #cosignedSize = 0
  #isLeading = false
  #lastMs: number
  #sending: Promise<void> | null = null

  constructor(witness: WitnessClient, parts: CosignerParts) {
    this.#parts = parts
    this.#witness = witness
    this.#warning = new ThrottledWarning(parts.logger)
    this.#lastMs = parts.clock() - parts.everyMs
  }

  onSealed(seal: Seal, isOwn: boolean): void {
    this.#isLeading = isOwn
    if (seal.size <= (this.#newest?.size ?? 0)) return
    this.#newest = seal
    this.#arrived.push(seal)
    if (this.#growth !== null && !extend(this.#growth, seal)) this.#growth = null
    if (this.#next !== null && !extend(this.#next, seal)) this.#next = null
    if (this.#sending === null) this.#arrived = []
  }

  onCosigned({ witness, size }: CheckpointCosigned): void {
    if (witness !== this.#witness.key.name) return
    this.#cosignedSize = Math.max(this.#cosignedSize, size)
    this.#lastMs = this.#parts.clock()
  }

  sendIfDue(): void {
    const { clock, everyMs } = this.#parts
    const dueAfterMs = this.#isLeading ? everyMs : 2 * everyMs
    if (Math.abs(clock() - this.#lastMs) >= dueAfterMs) void this.send() // A clock may be set back.
  }

  /** Sends what the witness has not cosigned yet; while a checkpoint is being sent, waits for that one. */
  send(): Promise<void> {
    if (this.#newest === null || this.#newest.size <= this.#cosignedSize) return Promise.resolve()
    this.#lastMs = this.#parts.clock()
    this.#sending ??= this.#sendNewest()
      .catch((fault: unknown) => this.#report(fault))
      .finally(() => {
        this.#sending = null
        this.#next = null
        this.#arrived = []
      })
    return this.#sending
  }

  #report(fault: unknown): void {
    const { name: witness } = this.#witness.key
    if (fault instanceof SealFault) this.#parts.onAhead(fault)
    else if (fault instanceof NoteFault) this.#refused(200, faultText(fault))
    else this.#warning.raise('witness.unavailable', { witness, fault })
  }

  #refused(status: number, reason: string): void {
    this.#warning.raise('witness.refused', { witness: this.#witness.key.name, status, reason })
  }

  /** A witness that has cosigned another size names it, and is asked again from there. */
  async #sendNewest(): Promise<void> {
    for (let tries = 0; tries < schedulerLimits.witnessTriesMax; tries += 1) {
      const seal = this.#newest!
      const growth = this.#growth?.tree.size === seal.size ? this.#growth : null
      const { from: oldSize, proof } = growth ?? { from: 0, proof: [] }
      this.#next = new TreeGrowth(buildTree(seal))
      const reply = await this.#witness.add(formatAddCheckpoint({ oldSize, proof, note: seal.note }))
      const outcome = readAddReply(reply, seal.note, this.#witness.key)
      if (outcome.type === 'cosigned') return this.#record(seal, outcome.lines)
      if (outcome.type === 'refused') return this.#refused(reply.status, outcome.reason)
      if (outcome.size > this.#newest!.size) return compareWithLog(this.#parts, this.#witness.key, outcome.size)
      this.#growth = null
      const known = outcome.size === seal.size ? this.#next : await readGrowth(this.#parts, outcome.size)
      for (const arrived of this.#arrived) if (known !== null) extend(known, arrived)
      this.#growth = known
    }
  }

  async #record(seal: Seal, lines: string): Promise<void> {
    const { key } = this.#witness
    this.#growth = this.#next
    await this.#parts.log.append([
      {
        type: 'CheckpointCosigned',
        data: { size: seal.size, root: seal.root.toString('base64'), witness: key.name, note: `${seal.note}${lines}` },
      },
    ])
    this.#cosignedSize = Math.max(this.#cosignedSize, seal.size)
    this.#warning.clear('witness.available', { witness: key.name })
  }
}

/** Sealing never waits for it: what a witness has not cosigned, it gets with a later checkpoint. */
export class Cosigner implements SealObserver, RunningRole {
  readonly #sessions: readonly WitnessSession[]
  readonly #timer: NodeJS.Timeout

  constructor(parts: CosignerParts) {
    this.#sessions = parts.witnesses.map((witness) => new WitnessSession(witness, parts))
    this.#timer = setInterval(() => {
      for (const session of this.#sessions) session.sendIfDue()
    }, schedulerLimits.witnessTickMs)
  }

  onSealed(seal: Seal, isOwn: boolean): void {
    for (const session of this.#sessions) session.onSealed(seal, isOwn)
  }

  onCosigned(cosigned: CheckpointCosigned): void {
    for (const session of this.#sessions) session.onCosigned(cosigned)
  }

  /** The last checkpoint is sent too: a log whose gateway was stopped is cosigned to its end. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    const sendLast = async (session: WitnessSession): Promise<void> => {
      await session.send() // Of one that is being sent, this is the end.
      await session.send()
    }
    await waitAtMost(Promise.all(this.#sessions.map(sendLast)), schedulerLimits.schedulerStopMs)
  }
}
