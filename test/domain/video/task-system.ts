import { utcDayAt } from '../../../src/domain/instant.ts'
import {
  type Applied,
  applyFrame,
  findOrCreateWallet,
  initialLedger,
  type Ledger,
  type LedgerFrame,
} from '../../../src/domain/ledger/ledger.ts'
import {
  decideSettlement,
  lateVerdict,
  unitsPicosRoundingHalfUp,
  type VideoVerdict,
} from '../../../src/domain/video/settle.ts'
import type { Task } from '../../../src/domain/video/task.ts'
import { decideWallet, type WalletCommand, type WalletDecision } from '../../../src/domain/wallet/decide.ts'
import { applyToWallet } from '../../../src/domain/wallet/evolve.ts'
import { draftWallet } from '../../../src/domain/wallet/wallet.ts'
import { type Event, type Fact, wrapEvent } from '../../../src/events/envelope.ts'
import { orderOf, startMs } from './tasks.ts'

/** What the system is made of; a test replaces one to plant a defect. */
export interface Parts {
  readonly apply: typeof applyFrame
  readonly decide: typeof decideWallet
  /** What an edge asks for again when it has not heard whether its frame was stored. */
  readonly afterLostAck: (submit: Submit, freshTaskId: string) => Submit
  /** Whether the log stores a frame behind `last` that expects `expected`. */
  readonly expects: (last: number, expected: number) => boolean
}

export const soundParts: Parts = {
  apply: applyFrame,
  decide: decideWallet,
  afterLostAck: (submit) => submit,
  expects: (last, expected) => last === expected,
}

/** What a caller asked for; sent again it is the same, with another task id. */
export interface Submit {
  readonly workspaceId: string
  readonly taskId: string
  readonly unitsMax: string
  readonly requestDigest: string
  readonly externalTaskId: string | null
}

export type Answer = { readonly queued: string } | { readonly refused: string }

interface FrameDraft {
  readonly walletSubject: string | null
  readonly writer: string
  readonly counter: number
  readonly events: readonly Event[]
}

/** A process that folds the log at its own pace. A restart gives it another writer. */
class Process {
  readonly #name: string
  readonly #parts: Parts
  #starts = 0
  #counter = 0
  ledger = initialLedger()

  constructor(name: string, parts: Parts) {
    this.#name = name
    this.#parts = parts
  }

  catchUp(frames: readonly LedgerFrame[], framesMax = Number.POSITIVE_INFINITY): readonly Applied[] {
    return frames
      .slice(this.ledger.sequence, this.ledger.sequence + framesMax)
      .flatMap((frame) => this.#parts.apply(this.ledger, frame))
  }

  restart(frames: readonly LedgerFrame[]): void {
    this.#starts += 1
    this.#counter = 0
    this.ledger = initialLedger()
    this.catchUp(frames)
  }

  /** Wallet frames have a writer of their own, as in the log. */
  draft(walletSubject: string | null, events: readonly Event[]): FrameDraft {
    this.#counter += 1
    const writer = `${this.#name}-${this.#starts}${walletSubject === null ? '' : '-wallet'}`
    return { walletSubject, writer, counter: this.#counter, events }
  }
}

interface Flight {
  readonly frame: FrameDraft
  readonly expected: number
  readonly workspaceId: string
  readonly decided: readonly { readonly submit: Submit; readonly decision: WalletDecision }[]
}

interface Edge {
  readonly process: Process
  waiting: readonly Submit[]
  flight: Flight | null
}

interface Poller {
  readonly process: Process
  /** Tasks as it saw them open: what a process that was paused still believes. */
  readonly remembered: Map<string, Task>
}

export type VendorTask =
  | { readonly status: 'SUBMITTED' | 'IN_PROGRESS' }
  | { readonly status: 'ENDED'; readonly verdict: VideoVerdict & { readonly vendorTaskId: string } }

const unitPrice = '0.14'
const holdMs = 86_400_000

/** Two edges, two pollers, a scheduler, a vendor and a caller around one log, each as late as the test makes it. */
export class TaskSystem {
  readonly frames: LedgerFrame[] = []
  readonly vendor = new Map<string, VendorTask>()
  /** What callers were told, by the digest of what they had asked for. */
  readonly answers: { readonly submit: Submit; readonly answer: Answer }[] = []
  readonly #parts: Parts
  readonly #edges: readonly Edge[]
  readonly #pollers: readonly Poller[]
  readonly #scheduler: Process
  readonly #operator: Process
  #unanswered: readonly Submit[] = []
  #ids = 0
  #clockMs = startMs

  constructor(parts: Parts) {
    this.#parts = parts
    this.#edges = ['edge-a', 'edge-b'].map((name) => ({ process: new Process(name, parts), waiting: [], flight: null }))
    this.#pollers = ['poller-a', 'poller-b'].map((name) => ({
      process: new Process(name, parts),
      remembered: new Map(),
    }))
    this.#scheduler = new Process('scheduler', parts)
    this.#operator = new Process('operator', parts)
  }

  credit(workspaceId: string, amount: string, reference: string): void {
    this.#post(workspaceId, { type: 'WalletCredited', data: { workspaceId, amount, reference, note: '' } })
  }

  adjust(workspaceId: string, amount: string, adjustmentId: string): void {
    const data = { adjustmentId, workspaceId, amount, reason: 'reconciliation', corrects: 'task_1', note: '' } as const
    this.#post(workspaceId, { type: 'AdjustmentPosted', data })
  }

  /** A caller asks an edge. */
  submit(edge: number, workspaceId: string, unitsMax: string, own: { id: string; digest: string } | null): void {
    const taskId = this.#freshTaskId()
    const requestDigest = own?.digest ?? taskId
    this.#ask(edge, { workspaceId, taskId, unitsMax, requestDigest, externalTaskId: own?.id ?? null })
  }

  /** A caller with an id of its own, whom a dead edge left without an answer, asks again. */
  submitAgain(edge: number): void {
    const [submit, ...others] = this.#unanswered
    if (submit === undefined) return
    this.#unanswered = others
    this.#ask(edge, { ...submit, taskId: this.#freshTaskId() })
  }

  /** An edge decides what waits for one wallet together, on what it has folded so far. */
  decide(which: number, framesMax: number): void {
    const edge = this.#edges[which]!
    edge.process.catchUp(this.frames, framesMax)
    const workspaceId = edge.waiting[0]?.workspaceId
    if (edge.flight !== null || workspaceId === undefined) return
    const wallet = findOrCreateWallet(edge.process.ledger, workspaceId)
    const draft = draftWallet(wallet)
    const decided = edge.waiting
      .filter((submit) => submit.workspaceId === workspaceId)
      .map((submit) => {
        const decision = this.#parts.decide(this.#placing(submit), draft)
        if ('facts' in decision) for (const fact of decision.facts) applyToWallet(draft, fact)
        return { submit, decision }
      })
    edge.waiting = edge.waiting.filter((submit) => submit.workspaceId !== workspaceId)
    const facts = decided.flatMap(({ decision }) => ('facts' in decision ? decision.facts : []))
    const events = facts.map((fact) => this.#seal(fact))
    const flight = {
      frame: edge.process.draft(workspaceId, events),
      expected: wallet.subjectSequence,
      workspaceId,
      decided,
    }
    if (facts.length === 0) this.#answer(edge, flight)
    else edge.flight = flight
  }

  /** An edge's frame goes to the log once; it is sent again with the same id until its fate is known. */
  send(which: number, fate: 'acknowledged' | 'acknowledgement lost' | 'lost'): void {
    const edge = this.#edges[which]!
    const { flight } = edge
    if (flight === null) return
    const stored = fate === 'lost' ? null : this.#storeExpecting(flight)
    if (fate !== 'acknowledged') this.#retry(edge, flight)
    else if (stored === null) this.#decideAgain(edge, flight)
    else {
      edge.flight = null
      edge.process.catchUp(this.frames, Math.max(0, stored.sequence - edge.process.ledger.sequence))
      this.#answer(edge, flight)
    }
  }

  killEdge(which: number): void {
    const edge = this.#edges[which]!
    const lost = [...(edge.flight?.decided.map(({ submit }) => submit) ?? []), ...edge.waiting]
    this.#unanswered = [...this.#unanswered, ...lost.filter(({ externalTaskId }) => externalTaskId !== null)]
    edge.waiting = []
    edge.flight = null
    edge.process.restart(this.frames)
  }

  /** An edge gives a hold back, as it does when a task cannot be queued after all. */
  giveUp(which: number, workspaceId: string, taskId: string): void {
    this.#release(this.#edges[which]!.process, workspaceId, taskId, 'submit_failed')
  }

  /** The vendor's word on a task that it has; its last one stays. */
  vendorSays(taskId: string, told: VendorTask): void {
    const standing = this.vendor.get(taskId)
    if (standing !== undefined && standing.status !== 'ENDED') this.vendor.set(taskId, told)
  }

  /** A poller asks the vendor about a task, and tells what that means to it, as far as it has followed the log. */
  poll(which: number, taskId: string, framesMax: number): void {
    const { process, remembered } = this.#pollers[which]!
    process.catchUp(this.frames, framesMax)
    for (const task of process.ledger.tasks.values()) remembered.set(task.taskId, { ...task })
    const task = remembered.get(taskId)
    if (task === undefined) return
    if (process.ledger.tasks.has(taskId)) this.#tell(process, task)
    else this.#tellLate(process, task)
  }

  /** A poller that was paused goes on where it stood, or a message is delivered to it once more: it has not followed the log. */
  redeliver(which: number, taskId: string): void {
    const { process, remembered } = this.#pollers[which]!
    const task = remembered.get(taskId)
    if (task !== undefined) this.#tell(process, task)
  }

  /** A word of the vendor's that took its time. */
  progress(
    which: number,
    workspaceId: string,
    taskId: string,
    status: 'SUBMITTED' | 'IN_PROGRESS',
    percent: number,
  ): void {
    const data = { taskId, workspaceId, status, progress: percent }
    this.#append(this.#pollers[which]!.process, { type: 'TaskProgressed', data })
  }

  killPoller(which: number): void {
    const { process, remembered } = this.#pollers[which]!
    remembered.clear()
    process.restart(this.frames)
  }

  /** Time passes until a hold is overdue; the scheduler releases what it knows to be. */
  expire(deadlineMs: number, framesMax: number): void {
    this.#clockMs = Math.max(this.#clockMs, deadlineMs)
    this.#scheduler.catchUp(this.frames, framesMax)
    for (const { holds } of [...this.#scheduler.ledger.wallets.values()])
      for (const { holdId, workspaceId, deadlineMs } of [...holds.values()])
        if (deadlineMs <= this.#clockMs) this.#release(this.#scheduler, workspaceId, holdId, 'expired')
  }

  /** A journal's frame is stored once more, after the log has forgotten its id. */
  storeTwice(pick: number): void {
    const journals = this.frames.filter(({ walletSubject }) => walletSubject === null)
    const frame = journals[pick % Math.max(1, journals.length)]
    if (frame !== undefined) this.#store(frame)
  }

  #freshTaskId(): string {
    this.#ids += 1
    return `task_${this.#ids}`
  }

  #seal(fact: Fact): Event {
    this.#ids += 1
    return wrapEvent(fact, `id-${this.#ids}`, '/gateway/test', new Date(this.#clockMs).toISOString())
  }

  #placing({ taskId, unitsMax, requestDigest, externalTaskId }: Submit): WalletCommand {
    const order = orderOf({ unitPrice, unitsMax, requestDigest })
    return {
      type: 'PlaceTaskHold',
      taskId,
      amountPicos: unitsPicosRoundingHalfUp(unitsMax, unitPrice),
      day: utcDayAt(this.#clockMs),
      deadline: new Date(this.#clockMs + holdMs).toISOString(),
      owner: 'edge',
      order: externalTaskId === null ? order : { ...order, externalTaskId },
    }
  }

  #ask(which: number, submit: Submit): void {
    const edge = this.#edges[which]!
    edge.waiting = [...edge.waiting, submit]
  }

  #answer({ process }: Edge, { decided, workspaceId }: Flight): void {
    const { externalTasks } = findOrCreateWallet(process.ledger, workspaceId)
    for (const { submit, decision } of decided) {
      const standing = submit.externalTaskId === null ? undefined : externalTasks.get(submit.externalTaskId)
      const answer =
        'refused' in decision ? { refused: decision.refused.reason } : { queued: standing?.taskId ?? submit.taskId }
      this.answers.push({ submit, answer })
    }
  }

  #retry(edge: Edge, flight: Flight): void {
    const submits = flight.decided.map(({ submit }) => submit)
    const again = submits.map((submit) => this.#parts.afterLostAck(submit, this.#freshTaskId()))
    if (again.every((submit, index) => submit === submits[index])) return
    edge.flight = null
    edge.waiting = [...again, ...edge.waiting]
  }

  #decideAgain(edge: Edge, { decided }: Flight): void {
    edge.flight = null
    edge.waiting = [...decided.map(({ submit }) => submit), ...edge.waiting]
    edge.process.catchUp(this.frames)
  }

  #store(draft: FrameDraft): LedgerFrame {
    this.#clockMs += 1_000
    const frame = { ...draft, sequence: this.frames.length + 1 }
    this.frames.push(frame)
    return frame
  }

  /** Null where another frame came first. A frame that stands already is found by its id. */
  #storeExpecting({
    frame,
    expected,
    workspaceId,
  }: Pick<Flight, 'frame' | 'expected' | 'workspaceId'>): LedgerFrame | null {
    const ours = this.frames.find(({ writer, counter }) => writer === frame.writer && counter === frame.counter)
    if (ours !== undefined) return ours
    const last = this.frames.findLast(({ walletSubject }) => walletSubject === workspaceId)?.sequence ?? 0
    return this.#parts.expects(last, expected) ? this.#store(frame) : null
  }

  #append(process: Process, fact: Fact): void {
    this.#store(process.draft(null, [this.#seal(fact)]))
  }

  /** For facts with an id that the fold honours once. */
  #post(workspaceId: string, fact: Fact): void {
    this.#store(this.#operator.draft(workspaceId, [this.#seal(fact)]))
  }

  /** Whoever releases does not wait until its own ledger has it: it may do so again. */
  #release(process: Process, workspaceId: string, holdId: string, reason: 'expired' | 'submit_failed'): void {
    for (;;) {
      const wallet = findOrCreateWallet(process.ledger, workspaceId)
      const decision = this.#parts.decide({ type: 'ReleaseHold', holdId, reason }, draftWallet(wallet))
      const facts = 'facts' in decision ? decision.facts : []
      if (facts.length === 0) return
      const frame = process.draft(
        workspaceId,
        facts.map((fact) => this.#seal(fact)),
      )
      if (this.#storeExpecting({ frame, expected: wallet.subjectSequence, workspaceId }) !== null) return
      process.catchUp(this.frames)
    }
  }

  #tell(process: Process, task: Task): void {
    const { taskId, workspaceId } = task
    const told = this.vendor.get(taskId)
    if (told === undefined) {
      // The vendor keeps our id unique: a second submit finds the first one's task.
      this.vendor.set(taskId, { status: 'SUBMITTED' })
      this.#append(process, { type: 'TaskSubmitted', data: { taskId, workspaceId, vendorTaskId: `v-${taskId}` } })
    } else if (told.status === 'ENDED') this.#append(process, decideSettlement(task, told.verdict))
    else {
      const data = { taskId, workspaceId, status: told.status, progress: told.status === 'SUBMITTED' ? 20 : 30 }
      this.#append(process, { type: 'TaskProgressed', data })
    }
  }

  #tellLate(process: Process, task: Task): void {
    const told = this.vendor.get(task.taskId)
    if (told?.status === 'ENDED') this.#append(process, lateVerdict(task, told.verdict))
  }
}

/** What the fold shows to whoever has followed the log to its end. */
export class Observer {
  readonly #process: Process

  constructor(parts: Parts) {
    this.#process = new Process('observer', parts)
  }

  get ledger(): Ledger {
    return this.#process.ledger
  }

  /** Folds the next frame, if there is one. */
  next(frames: readonly LedgerFrame[]): readonly Applied[] | null {
    return this.ledger.sequence < frames.length ? this.#process.catchUp(frames, 1) : null
  }
}
