import { hash } from 'node:crypto'
import { createSigner, deriveVerifier, type Verifier } from '../../src/audit/note.ts'
import { emptyHead } from '../../src/audit/signed-head.ts'
import { permittedEventTypes } from '../../src/cli/platform.ts'
import { faultText } from '../../src/errors/gateway-error.ts'
import type { Event } from '../../src/events/envelope.ts'
import { Actions, adminToken } from './actions.ts'
import { audit } from './auditor.ts'
import { simBounds } from './bounds.ts'
import { checkRows, EndChecks, type JournalEntry } from './end-checks.ts'
import { Faults } from './faults.ts'
import { SimKeys } from './keys.ts'
import { Observer } from './observer.ts'
import { logName } from './open-log.ts'
import { OpenRequests } from './open-requests.ts'
import { openAccounts } from './operator.ts'
import { findOverdue } from './overdue.ts'
import type { Plan } from './plan.ts'
import { type CrashPlace, natsPortOf, Ports } from './ports.ts'
import { runIn, SimProcess } from './process.ts'
import { Processes } from './processes.ts'
import { RateChecks } from './rate-checks.ts'
import type { RunOptions } from './report.ts'
import type { Simulator } from './simulator.ts'
import { SimTables } from './tables.ts'
import { TaskQueue } from './task-queue.ts'
import type { Note } from './trace.ts'
import { SimUpstream } from './upstream.ts'
import { SimVendor } from './vendor.ts'
import { VideoClients } from './videos.ts'

const origin = 'gateway.test/simulation'
/** Holds of dead edges have expired by then, and idle allowances have been returned. */
const drainMs = 150_000
const drainStepMs = 2_000
/** Until it is sealed, and in the tables. */
const lapseMs = 30_000
/** Between a limit that lets a request through and its place in the log. */
const calmWaitMs = 1_000

const moving: ReadonlySet<string> = new Set([
  'LimitsSet',
  'PlanSubscribed',
  'UsageRecorded',
  'WalletCredited',
  'WorkspaceChanged',
])

const movesMoney = (event: Event): boolean =>
  moving.has(event.type) || (event.type === 'HoldPlaced' && event.data.purpose === 'task')

/** What a plan runs in, and what is checked of it. */
export class World {
  readonly violations: string[] = []
  readonly ports: Ports
  readonly tables: SimTables
  readonly upstream: SimUpstream
  readonly vendor: SimVendor
  readonly videos: VideoClients
  readonly observer: Observer
  readonly statuses = new Map<number, number>()
  readonly events = new Map<string, number>()
  /** Bills, videos that were accepted, credits, plans that were begun and limits, without those of the first accounts. */
  moves = 0
  /** When something is violated for the first time. */
  readonly violated: Promise<void>
  readonly #plan: Plan
  readonly #simulator: Simulator
  readonly #note: Note
  readonly #processes: Processes
  readonly #actions: Actions
  readonly faults: Faults
  readonly #checks: EndChecks
  readonly #verifiers: readonly Verifier[]
  readonly #queue: TaskQueue
  readonly #openRequests: OpenRequests
  readonly #rates: RateChecks
  readonly #revokedMs = new Map<string, number>()
  readonly #journal: JournalEntry[] = []
  readonly #keys = new SimKeys()
  /** Of the message that the nats-server obeys now. */
  #sender: SimProcess | undefined
  #onViolated = (): void => undefined
  #isDraining = false
  #open = 0

  constructor(plan: Plan, simulator: Simulator, { trace }: RunOptions) {
    this.#plan = plan
    this.#simulator = simulator
    this.violated = new Promise((resolve) => {
      this.#onViolated = resolve
    })
    const { time, random, network } = simulator
    this.#note = (who, text) => trace?.(`${time.nowMs.toFixed(3)} ${who}: ${text()}`)
    this.ports = new Ports(
      (process, port) => this.#note(process.name, () => port),
      (process, port) => this.#processes.crash(process, `at ${port}`),
    )
    const signer = createSigner(origin, Buffer.alloc(32, 7))
    this.#verifiers = [deriveVerifier(signer)]
    const violate = (text: string): void => this.violate(text)
    this.observer = new Observer({
      onViolation: violate,
      permitted: permittedEventTypes,
      verifiers: this.#verifiers,
      prefix: `${logName.toLowerCase()}.`,
    })
    const common = { time, random, ports: this.ports, violate }
    this.tables = new SimTables({ ...common, applied: () => this.#checkRows() })
    const modes = new Map(
      plan.actions.flatMap(({ what }) => (what.type === 'chat' ? [[what.number, what.attempts] as const] : [])),
    )
    const modesOf = (number: number) => (this.#isDraining ? [] : (modes.get(number) ?? []))
    this.upstream = new SimUpstream({ ...common, modesOf, routedCount: () => this.observer.routedCount })
    const videoActions = new Map(
      plan.actions.flatMap(({ what }) => (what.type === 'video' ? [[what.number, what] as const] : [])),
    )
    const actionOf = (number: number) => videoActions.get(number)
    this.vendor = new SimVendor({ ...common, actionOf, isDraining: () => this.#isDraining })
    this.#queue = new TaskQueue(this.observer, violate)
    this.videos = new VideoClients({ observer: this.observer, vendor: this.vendor, queue: this.#queue, violate })
    this.#checks = this.#createChecks()
    const { ports, tables, upstream, vendor, observer, videos, statuses } = this
    const admins = [{ name: 'ana', sha256: hash('sha256', adminToken), role: 'owner' as const }]
    const parts = { simulator, note: this.#note, violate }
    const isCalm = plan.faults.every(({ what }) => what.type === 'lose_packets')
    this.#processes = new Processes({
      ...parts,
      kinds: plan.hosts,
      started: { ports, tables, upstream, vendor, signer, verifiers: this.#verifiers, admins },
      emptyHead: emptyHead(origin),
      isCalm,
      logged: (event) => this.#count(event),
    })
    this.#openRequests = new OpenRequests({ observer, processes: this.#processes, journal: this.#journal })
    this.#rates = new RateChecks(violate, isCalm ? calmWaitMs : simBounds.requestDeadlineMs)
    this.faults = new Faults({ ...parts, processes: this.#processes, ports, tables, vendor, rates: this.#rates })
    this.#actions = new Actions({
      ...{ ...parts, processes: this.#processes, observer, keys: this.#keys, videos, statuses, isCalm },
      journal: this.#journal,
      revokedMs: this.#revokedMs,
      isSwift: plan.faults.every(({ what }) => what.type === 'lose_packets' || what.type === 'kill'),
    })
    network.onWrite((process, place) => ports.reach(process, 'client.write', place))
  }

  #createChecks(): EndChecks {
    const { observer, tables, upstream, videos } = this
    return new EndChecks({
      ...{ observer, tables, upstream, videos },
      journal: this.#journal,
      references: new Set([
        'first',
        ...this.#plan.actions.flatMap(({ what }) => ('reference' in what ? [what.reference] : [])),
      ]),
      violate: (text) => this.violate(text),
      unended: () => this.#openRequests.unended(),
      isEndLost: (requestId) => this.#openRequests.isEndLost(requestId),
      isSealed: () => this.#isSealed(),
      overdue: () => this.#overdue(),
      isCrashed: (process) => this.#processes.isCrashed(process),
      writerOf: (writer) => this.#openRequests.writerOf(writer),
    })
  }

  violate(text: string): void {
    if (this.violations.length < 20) this.violations.push(`${this.#simulator.time.nowMs.toFixed(1)} ms: ${text}`)
    this.#note('violation', () => text)
    this.#onViolated()
  }

  reach(sender: SimProcess | undefined, subject: string, place: CrashPlace): boolean {
    this.#sender = sender
    return this.ports.reach(sender, natsPortOf(subject), place)
  }

  async run(): Promise<void> {
    await this.#openAccounts()
    this.#processes.startAll()
    const { time } = this.#simulator
    while (this.#processes.edges().length < 2) await time.sleep(50)
    const beganMs = time.nowMs
    for (const { atMs, what } of this.#plan.faults) time.schedule(atMs, () => this.faults.inflict(what))
    for (const { atMs, what } of this.#plan.actions)
      time.schedule(atMs, () => {
        this.#open += 1
        void this.#actions.act(what).finally(() => {
          this.#open -= 1
        })
      })
    const endMs = beganMs + Math.max(0, ...this.#plan.actions.map(({ atMs }) => atMs))
    while (time.nowMs <= endMs) await time.sleep(drainStepMs)
    await this.#drain()
    await this.#audit()
    // A credit may have lapsed while the auditor read.
    for (let waitedMs = 0; waitedMs < lapseMs && !this.#isQuiet(); waitedMs += drainStepMs)
      await time.sleep(drainStepMs)
    this.#checks.checkAll()
  }

  /** Faults stop; what is open ends. */
  async #drain(): Promise<void> {
    const { time } = this.#simulator
    this.#isDraining = true
    this.faults.end()
    const untilMs = time.nowMs + drainMs
    while (time.nowMs < untilMs && !this.#isQuiet()) await time.sleep(drainStepMs)
    for (const taskId of this.videos.left()) this.violate(`task ${taskId} has ended, and stays in its queue`)
    if (this.#open > 0) this.violate(`${this.#open} clients wait for ever`)
  }

  async #audit(): Promise<void> {
    const process = new SimProcess('auditor')
    const { ledger } = this.observer
    await runIn(process, () =>
      audit(this.#processes.startOf(process, 'auditor'), this.#verifiers, ledger, (text) => this.violate(text)),
    ).catch((fault: unknown) => this.violate(`the audit fails: ${faultText(fault)}`))
    process.die()
  }

  #isQuiet(): boolean {
    const { ledger } = this.observer
    const holds = [...ledger.wallets.values()].some((wallet) => wallet.holds.size > 0)
    const isProjected = this.tables.sequence === ledger.sequence
    const isEnded =
      this.#open === 0 && this.#openRequests.unended().length === 0 && this.videos.unrecorded().length === 0
    const isDone = this.videos.left().length === 0 && this.#overdue().length === 0
    return isEnded && !this.#processes.isNight && !holds && isProjected && isDone && this.#isSealed()
  }

  #overdue(): readonly string[] {
    return findOverdue(this.observer.ledger, this.#simulator.time.wallMs())
  }

  /** To its last frame with anything but checkpoints. */
  #isSealed(): boolean {
    const { frames, ledger } = this.observer
    const news = frames.findLast(({ events }) => events.some(({ type }) => type !== 'CheckpointSealed'))
    return (ledger.sealed?.size ?? 0) >= (news?.sequence ?? 0)
  }

  async #openAccounts(): Promise<void> {
    const process = new SimProcess('operator')
    await runIn(process, () => openAccounts(this.#processes.startOf(process, 'operator'), this.#keys))
    process.die()
  }

  /** Wherever the tables are as far as the log. */
  #checkRows(): void {
    const { ledger, shadow } = this.observer
    if (this.tables.sequence === ledger.sequence) checkRows(this.tables.rows, shadow, (text) => this.violate(text))
  }

  #count(event: string): void {
    this.events.set(event, (this.events.get(event) ?? 0) + 1)
  }

  removed(stream: string, subject: string): void {
    if (stream === `${logName}_TASKS`) this.#queue.removed(subject, this.#simulator.time.wallMs(this.#sender))
  }

  stored(stream: string, message: Parameters<Observer['take']>[0]): void {
    if (stream === `${logName}_TASKS`) this.#queue.stored(message.subject, message.data)
    if (stream !== logName) return
    try {
      const frame = this.observer.take(message)
      this.#rates.take(frame.events)
      this.#openRequests.take(frame, this.#sender, this.#simulator.time.nowMs)
      for (const event of frame.events) {
        this.#count(event.type)
        if (this.#processes.areStarted && movesMoney(event)) this.moves += 1
        if (event.type === 'KeyRevoked') this.#revokedMs.set(event.data.keyId, this.#simulator.time.nowMs)
        if (event.type === 'HoldPlaced' && event.data.purpose === 'task') this.#queue.held(event.data.holdId)
        if (event.type === 'TaskSettled' && this.observer.isRefusal(event))
          this.vendor.refusalStored(event.data.taskId, this.#sender)
      }
      this.#note('log', () => `${frame.sequence} ${frame.events.map(({ type }) => type).join(' ')}`)
    } catch (fault) {
      this.violate(`frame ${message.sequence} cannot be folded: ${faultText(fault)}`)
    }
  }
}
