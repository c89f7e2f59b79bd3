// Before the program, which takes Node's functions when it is loaded.
import './deterministic-zlib.ts'
import './thread-immediates.ts'

import { createHash, hash } from 'node:crypto'
import { createSigner, deriveVerifier } from '../../src/audit/note.ts'
import { emptyHead } from '../../src/audit/signed-head.ts'
import { permittedEventTypes } from '../../src/cli/platform.ts'
import { faultText } from '../../src/errors/gateway-error.ts'
import type { Logger } from '../../src/runtime/logger.ts'
import { randomOf } from '../support/random.ts'
import { adminRequest } from './admin-requests.ts'
import { audit } from './auditor.ts'
import { exchange, type SimResponse } from './clients.ts'
import { checkRows, EndChecks, type JournalEntry } from './end-checks.ts'
import { type HostKind, type HostParts, hostStarters, keyedTag, logName, SimHeadStore, type Start } from './hosts.ts'
import { type IssuedKey, SimKeys } from './keys.ts'
import { Observer } from './observer.ts'
import { openAccounts, runCommand } from './operator.ts'
import type { AcknowledgedSubject, Action, AdminAction, ChatAction, CommandAction, Fault, Plan } from './plan.ts'
import { type CrashPlace, natsPortOf, Ports } from './ports.ts'
import { runIn, SimProcess } from './process.ts'
import { createSimRuntime } from './runtime.ts'
import { type Simulator, simulate } from './simulator.ts'
import { SimTables } from './tables.ts'
import { TaskQueue } from './task-queue.ts'
import { SimUpstream } from './upstream.ts'
import { SimVendor } from './vendor.ts'
import type { VideoAction } from './video-plan.ts'
import { readTaskOf, submitOf, VideoClients } from './videos.ts'

export interface Report {
  readonly violations: readonly string[]
  /** Of all that happened: the same plan gives the same. */
  readonly traceHash: string
  readonly simulatedMs: number
  readonly steps: number
  readonly frames: number
  readonly portCalls: ReadonlyMap<string, number>
  readonly crashes: ReadonlyMap<string, number>
  /** Requests by their status; 0 for none. */
  readonly statuses: ReadonlyMap<number, number>
  /** Of the log, and of the processes' own logs, by type and code. */
  readonly events: ReadonlyMap<string, number>
}

export interface RunOptions {
  /** Each line of what happens. */
  readonly trace?: (line: string) => void
}

interface Host {
  readonly name: string
  readonly kind: HostKind
  readonly heads: SimHeadStore
  process: SimProcess | null
  /** It is being stopped. */
  stopping: SimProcess | null
  stops: { stop(): Promise<unknown> }[]
}

const adminToken = 'admin-token-of-the-simulation'
const origin = 'gateway.test/simulation'
const restartMs = 700
/** Of the processes' logs: nothing that happens here explains them. */
const impossible: ReadonlySet<string> = new Set(['snapshot.unreadable', 'seal.stopped', 'projection.row_mismatch'])
/** Statuses of a gateway that fails, or that cannot be reached. */
const unexplained: ReadonlySet<number> = new Set([0, 500, 503])
/** Served, or refused by what was asked of the edge. */
const admitted: ReadonlySet<number> = new Set([200, 401, 402, 403, 409, 429])
/** What the processes may log where nothing fails but providers and the vendor. */
const ordinary: ReadonlySet<string> = new Set([
  'client.connection_broken',
  'hold.expired',
  'key.expired',
  'ledger.restored',
  'ledger.snapshot_refused',
  'log.durability_relaxed',
  'projection.caught_up',
  'projection.standby',
  'snapshot.written',
  'upstream.attempt_failed',
  'video.task_settled',
  'video.unheld_request_dropped',
  'video.vendor_failed',
  'video.verdict_late',
  'wallet.expiry_applied',
])
/** The deadline of a request, and what its last steps take. */
const swiftAnswerMs = 25_000
/** Packets that are lost over a longer time may be all that a process sends in it. */
const lossMs = 300
/** An edge that is cut off works on for two seconds. */
const revokedUseMs = 4_000
const dayMs = 86_400_000
const notedMax = 64 * 1024
/** Holds of dead edges have expired by then, and idle allowances have been returned. */
const drainMs = 150_000
const drainStepMs = 2_000

class World {
  readonly violations: string[] = []
  readonly ports: Ports
  readonly tables: SimTables
  readonly upstream: SimUpstream
  readonly vendor: SimVendor
  readonly videos: VideoClients
  readonly observer: Observer
  readonly statuses = new Map<number, number>()
  readonly events = new Map<string, number>()
  readonly #plan: Plan
  readonly #simulator: Simulator
  readonly #digest = createHash('sha256')
  /** Not digested yet. */
  #noted = ''
  readonly #trace: (line: string) => void
  readonly #hosts: readonly Host[]
  readonly #parts: HostParts
  readonly #checks: EndChecks
  readonly #queue: TaskQueue
  readonly #sharedHeads: SimHeadStore
  readonly #listening = new Map<SimProcess, number>()
  /** Until when the log did not acknowledge what a process appended, as it reported. */
  readonly #unacknowledgedMs = new Map<SimProcess, number>()
  /** When. */
  readonly #crashed = new Map<SimProcess, number>()
  readonly #routedMs = new Map<string, number>()
  readonly #revokedMs = new Map<string, number>()
  readonly #writers = new Map<string, SimProcess>()
  readonly #journal: JournalEntry[] = []
  readonly #keys = new SimKeys()
  /** How many are still to be lost. */
  readonly #lostAcknowledgements = new Map<AcknowledgedSubject, number>()
  #lostPackets = 0
  #delayUntilMs = 0
  #delayMs = 0
  /** Of the message that the nats-server obeys now. */
  #sender: SimProcess | undefined
  /** Nothing that the gateway may fail for. */
  readonly #isCalm: boolean
  /** Nothing that may keep a request waiting, but a process that is gone. */
  readonly #isSwift: boolean
  #isDraining = false
  #isNight = false
  #open = 0

  constructor(plan: Plan, simulator: Simulator, { trace = () => {} }: RunOptions) {
    this.#plan = plan
    this.#isCalm = plan.faults.every(({ what }) => what.type === 'lose_packets')
    this.#isSwift = plan.faults.every(({ what }) => what.type === 'lose_packets' || what.type === 'kill')
    this.#simulator = simulator
    this.#trace = trace
    const { time, random } = simulator
    this.ports = new Ports(
      (process, port) => this.#note(process.name, port),
      (process, port) => this.#crash(process, `at ${port}`),
    )
    const signer = createSigner(origin, Buffer.alloc(32, 7))
    const verifiers = [deriveVerifier(signer)]
    this.observer = new Observer({
      onViolation: (text) => this.violate(text),
      permitted: permittedEventTypes,
      verifiers,
      prefix: `${logName.toLowerCase()}.`,
    })
    this.tables = new SimTables({ time, random, ports: this.ports, applied: () => this.#checkRows() })
    const modes = new Map(
      plan.actions.flatMap(({ what }) => (what.type === 'chat' ? [[what.number, what.attempts] as const] : [])),
    )
    const modesOf = (number: number) => (this.#isDraining ? [] : (modes.get(number) ?? []))
    const routedCount = (): number => this.observer.routedCount
    const violate = (text: string): void => this.violate(text)
    this.upstream = new SimUpstream({ time, random, ports: this.ports, modesOf, routedCount, violate })
    const videoActions = new Map(
      plan.actions.flatMap(({ what }) => (what.type === 'video' ? [[what.number, what] as const] : [])),
    )
    const isDraining = (): boolean => this.#isDraining
    const actionOf = (number: number) => videoActions.get(number)
    this.vendor = new SimVendor({ time, random, ports: this.ports, actionOf, isDraining, violate })
    this.#queue = new TaskQueue(this.observer, violate)
    this.videos = new VideoClients({ observer: this.observer, vendor: this.vendor, queue: this.#queue, violate })
    this.#checks = this.#createChecks()
    const admins = [{ name: 'ana', sha256: hash('sha256', adminToken), role: 'owner' as const }]
    const listening = (process: SimProcess, port: number): void => void this.#listening.set(process, port)
    const { ports, tables, upstream, vendor } = this
    this.#parts = { ports, tables, upstream, vendor, signer, verifiers, admins, listening }
    const newHeads = (place: string): SimHeadStore => new SimHeadStore(place, this.ports, emptyHead(origin))
    this.#sharedHeads = newHeads('table')
    this.#hosts = plan.hosts.map((kind, index) => ({
      name: `${kind}-${index}`,
      kind,
      heads: newHeads('file'),
      process: null,
      stopping: null,
      stops: [],
    }))
    simulator.network.onWrite((process, place) => this.ports.reach(process, 'client.write', place))
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
      unended: () => this.#unended(),
      isEndLost: (requestId) => this.#isEndLost(requestId),
      isSealed: () => this.#isSealed(),
      isCrashed: (process) => this.#crashed.has(process),
      writerOf: (writer) => this.#writers.get(writer),
    })
  }

  #digestNoted(): void {
    this.#digest.update(this.#noted)
    this.#noted = ''
  }

  get traceHash(): string {
    this.#digestNoted()
    return this.#digest.copy().digest('hex')
  }

  violate(text: string): void {
    if (this.violations.length < 20) this.violations.push(`${this.#simulator.time.nowMs.toFixed(1)} ms: ${text}`)
    this.#note('violation', text)
  }

  reach(sender: SimProcess | undefined, subject: string, place: CrashPlace): boolean {
    this.#sender = sender
    return this.ports.reach(sender, natsPortOf(subject), place)
  }

  acknowledgement(subject: string): { readonly isLost: boolean; readonly delayMs: number } {
    const { time } = this.#simulator
    const kind = subject.split('.')[1] as AcknowledgedSubject
    const left = this.#lostAcknowledgements.get(kind) ?? 0
    if (left > 0) {
      this.#lostAcknowledgements.set(kind, left - 1)
      this.#note('nats', `loses the acknowledgement on ${subject}`)
      return { isLost: true, delayMs: 0 }
    }
    return { isLost: false, delayMs: time.nowMs < this.#delayUntilMs ? this.#delayMs : 0 }
  }

  losesMessage(subject: string): boolean {
    if (this.#lostPackets === 0 || !natsPortOf(subject).startsWith('calls.packets')) return false
    this.#lostPackets -= 1
    this.#note('nats', `loses packets on ${subject}`)
    return true
  }

  async run(): Promise<void> {
    await this.#openAccounts()
    for (const host of this.#hosts) void this.#start(host)
    const { time } = this.#simulator
    while (this.#edges().length < 2) await time.sleep(50)
    const beganMs = time.nowMs
    for (const { atMs, what } of this.#plan.faults) time.schedule(atMs, () => this.#inflict(what))
    for (const { atMs, what } of this.#plan.actions)
      time.schedule(atMs, () => {
        this.#open += 1
        void this.#act(what).finally(() => {
          this.#open -= 1
        })
      })
    const endMs = beganMs + Math.max(0, ...this.#plan.actions.map(({ atMs }) => atMs))
    while (time.nowMs <= endMs) await time.sleep(drainStepMs)
    await this.#drain()
    await this.#audit()
    // A credit may have lapsed while the auditor read.
    for (let waitedMs = 0; waitedMs < drainMs && !this.#isQuiet(); waitedMs += drainStepMs)
      await time.sleep(drainStepMs)
    this.#checks.checkAll()
  }

  /** Faults stop; what is open ends. */
  async #drain(): Promise<void> {
    const { time } = this.#simulator
    this.#isDraining = true
    this.ports.disarm()
    this.#lostAcknowledgements.clear()
    this.#lostPackets = 0
    for (const host of this.#hosts) if (host.process !== null) host.process.clockOffsetMs = 0
    const untilMs = time.nowMs + drainMs
    while (time.nowMs < untilMs && !this.#isQuiet()) await time.sleep(drainStepMs)
    for (const taskId of this.#queue.left()) this.violate(`task ${taskId} has ended, and stays in its queue`)
    if (this.#open > 0) this.violate(`${this.#open} clients wait for ever`)
  }

  async #audit(): Promise<void> {
    const process = new SimProcess('auditor')
    const { ledger } = this.observer
    await runIn(process, () =>
      audit(this.#startOf(process, 'auditor'), this.#parts.verifiers, ledger, (text) => this.violate(text)),
    ).catch((fault: unknown) => this.violate(`the audit fails: ${faultText(fault)}`))
    process.die()
  }

  #isQuiet(): boolean {
    const { ledger } = this.observer
    const holds = [...ledger.wallets.values()].some((wallet) => wallet.holds.size > 0)
    const isProjected = this.tables.sequence === ledger.sequence
    const isEnded = this.#open === 0 && this.#unended().length === 0 && this.videos.unrecorded().length === 0
    const isDone = this.#queue.left().length === 0
    return isEnded && !this.#isNight && !holds && isProjected && isDone && this.#isSealed()
  }

  /** To its last frame with anything but checkpoints. */
  #isSealed(): boolean {
    const { frames, ledger } = this.observer
    const news = frames.findLast(({ events }) => events.some(({ type }) => type !== 'CheckpointSealed'))
    return (ledger.sealed?.size ?? 0) >= (news?.sequence ?? 0)
  }

  async #openAccounts(): Promise<void> {
    const process = new SimProcess('operator')
    await runIn(process, () => openAccounts(this.#startOf(process, 'operator'), this.#keys))
    process.die()
  }

  /** Until it was run to its end. */
  async #command(action: CommandAction): Promise<void> {
    const { time, network } = this.#simulator
    for (let key: IssuedKey | null = null; key === null; ) {
      const process = new SimProcess('operator')
      const death = new Promise<null>((resolve) => process.onDeath(() => resolve(null)))
      key = await runIn(process, () =>
        Promise.race([runCommand(this.#startOf(process, 'operator'), action), death]),
      ).catch((fault: unknown) => {
        this.#note('operator', `the command fails: ${faultText(fault)}`)
        return null
      })
      process.die()
      network.dropAll(process)
      if (key === null) await time.sleep(restartMs)
      else this.#keys.add(action.workspace, key)
    }
    this.#checkRecorded(action.type, action.reference)
  }

  #startOf(process: SimProcess, name: string, host?: Host): Start {
    const logger: Logger = {
      log: (event, fields) => {
        this.#count(event)
        // Logged when it begins, and once a minute; until it has recovered, it goes on.
        if (event === 'log.append_unacknowledged') this.#unacknowledgedMs.set(process, Number.POSITIVE_INFINITY)
        if (event === 'log.append_recovered') this.#unacknowledgedMs.set(process, this.#simulator.time.nowMs)
        if (impossible.has(event) || (this.#isCalm && !ordinary.has(event)))
          this.violate(`${name} logs ${event} ${faultText(fields['fault' as never])}`)
        this.#note(
          name,
          `${event} ${JSON.stringify(fields, (_, each) => (each instanceof Error ? each.message : each))}`,
        )
      },
    }
    const { time, random } = this.#simulator
    const runtime = createSimRuntime(process, { time, random, logger })
    return {
      ...this.#parts,
      process,
      runtime,
      heads: host?.heads ?? this.#sharedHeads,
      sharedHeads: this.#sharedHeads,
      onFatal: (fault) => {
        if (process.isDead) return
        this.violate(`${name} ended by a fatal fault: ${faultText(fault)}`)
        this.#crash(process, 'fatal')
      },
      push: (part) => {
        host?.stops.push(part)
        return part
      },
    }
  }

  async #start(host: Host): Promise<void> {
    const process = new SimProcess(host.name)
    host.process = process
    host.stops = []
    this.#note(host.name, 'starts')
    process.onDeath(() => this.#onDeath(host, process))
    try {
      await runIn(process, () => hostStarters[host.kind](this.#startOf(process, host.name, host)))
      this.#note(host.name, 'is started')
    } catch (fault) {
      this.#note(host.name, `cannot start: ${faultText(fault)}`)
      if (!process.isDead) this.#crash(process, 'at its start')
    }
  }

  #onDeath(host: Host, process: SimProcess): void {
    const { time, random } = this.#simulator
    this.#listening.delete(process)
    if (host.process !== process) return
    host.process = null
    if (this.#isNight) return
    time.scheduleFor(undefined, restartMs * (0.5 + random()), () => {
      if (host.process === null && !this.#isNight) void this.#start(host)
    })
  }

  #crash(process: SimProcess | null, why: string, isSilent = false): void {
    if (process === null || process.isDead) return
    this.#note(process.name, `dies ${why}`)
    this.#crashed.set(process, this.#simulator.time.nowMs)
    process.die()
    if (!isSilent) this.#simulator.network.dropAll(process)
  }

  /** As on SIGTERM; then the host starts again. */
  async #stop(host: Host): Promise<void> {
    const { process, stops } = host
    if (process === null) return
    const { time } = this.#simulator
    const beganMs = time.nowMs
    this.#note(host.name, 'is stopped')
    host.process = null
    host.stopping = process
    this.#listening.delete(process)
    try {
      await runIn(process, async () => {
        const death = new Promise<void>((resolve) => process.onDeath(resolve))
        for (const part of stops.reverse()) await Promise.race([part.stop(), death])
      })
    } catch (fault) {
      this.#note(host.name, `does not stop well: ${faultText(fault)}`)
    }
    if (process.isDead) this.#note(host.name, 'died while it stopped')
    // What the log has not taken by the end of its time to stop is lost, as if it were killed.
    else if ((this.#unacknowledgedMs.get(process) ?? 0) >= beganMs) this.#crashed.set(process, time.nowMs)
    process.die()
    host.stopping = null
    this.#simulator.network.dropAll(process)
    if (!this.#isNight) await this.#start(host)
  }

  /** Repeats under an idempotency key, which is kept for a day, come within half a minute. */
  async #passNight(isKilled: boolean): Promise<void> {
    this.#isNight = true
    await Promise.all(
      this.#hosts.map(async (host) => {
        if (isKilled) for (const process of [host.process, host.stopping]) this.#crash(process, 'before the night')
        else await this.#stop(host)
        while (host.stopping !== null) await this.#simulator.time.sleep(restartMs)
      }),
    )
    this.#simulator.time.wallOffsetMs += dayMs - 40_000
    this.#note('fault', 'a night went by')
    this.#isNight = false
    for (const host of this.#hosts) void this.#start(host)
  }

  #edges(): readonly (readonly [SimProcess, number])[] {
    return [...this.#listening].filter(([process]) => !process.isDead)
  }

  #inflict(fault: Fault): void {
    const { time, network, nats, server } = this.#simulator
    this.#note('fault', JSON.stringify(fault))
    const host = 'host' in fault ? this.#hosts[fault.host % this.#hosts.length]! : undefined
    const process = host?.process
    switch (fault.type) {
      case 'crash_at': {
        const ports = [...this.ports.calls.keys()].toSorted()
        const port = typeof fault.port === 'string' ? fault.port : ports[fault.port % ports.length]
        if (port !== undefined) this.ports.arm(port, fault)
        break
      }
      case 'kill':
        this.#crash(process ?? null, 'killed', fault.isSilent)
        break
      case 'stop':
        if (host !== undefined) void this.#stop(host)
        break
      case 'stall':
        if (process) network.stall(process, fault.ms)
        break
      case 'lose_acknowledgements':
        this.#lostAcknowledgements.set(fault.of, (this.#lostAcknowledgements.get(fault.of) ?? 0) + fault.count)
        break
      case 'delay_acknowledgements':
        this.#delayMs = fault.ms
        this.#delayUntilMs = time.nowMs + fault.forMs
        break
      case 'restart_nats':
        runIn(server, () => nats.kill())
        time.schedule(fault.downMs, () => nats.start())
        break
      case 'lose_packets':
        this.#lostPackets = fault.count
        time.schedule(lossMs, () => {
          this.#lostPackets = 0
        })
        break
      case 'forget_consumers':
        nats.forgetConsumers()
        break
      case 'clock_jump':
        if (process) process.clockOffsetMs += fault.ms
        break
      case 'tables_down':
        this.tables.downUntilMs = time.nowMs + fault.ms
        break
      case 'isolate':
        if (process) network.isolate(process, server, fault.ms)
        break
      case 'cut':
        if (process) network.dropAll(process)
        break
      case 'change_leader':
        runIn(server, () => nats.stepDown(fault.ms))
        break
      case 'fill_disk':
        nats.fullUntilMs = time.nowMs + fault.ms
        break
      case 'pass_night':
        void this.#passNight(fault.isKilled)
        break
      case 'vendor_down':
        this.vendor.downUntilMs = time.nowMs + fault.ms
        break
    }
  }

  async #act(action: Action): Promise<void> {
    const edges = this.#edges()
    const [process, port] = edges[Math.floor(this.#simulator.random() * edges.length)] ?? []
    if (process === undefined || port === undefined) return
    if (action.type === 'command') await this.#command(action)
    else if (action.type === 'chat') await this.#chat(action, process, port)
    else if (action.type === 'video') await this.#submitVideo(action, process, port)
    else
      await Promise.all(
        edges.map(([, each]) => (each === port || action.isRepeated ? this.#administer(action, each) : undefined)),
      )
  }

  async #chat(action: ChatAction, edge: SimProcess, port: number): Promise<void> {
    const { number, stream, router, isRepeatable, leavesAfter, leavesAfterMs, maxTokens } = action
    const { secret, keyId } = this.#keyOf(action)
    const beganMs = this.#simulator.time.nowMs
    const response = await exchange(this.#simulator.network, port, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: {
        authorization: `Bearer ${secret}`,
        ...(isRepeatable ? { 'idempotency-key': `key-${number}`, 'x-gateway-tags': `${keyedTag}=${number}` } : {}),
      },
      body: {
        model: router ? 'gateway/auto' : 'openai/plain',
        messages: [{ role: 'user', content: `Question #${number}` }],
        max_tokens: maxTokens,
        stream,
      },
      ...{ leavesAfter, leavesAfterMs },
    })
    const status = response?.status ?? 0
    this.#note(
      'client',
      `request ${number} ended with ${status} ${response?.isComplete} ${JSON.stringify(response?.body)}`,
    )
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    this.#journal.push({ action, response, edge })
    this.#checkServed(action, response, this.#simulator.time.nowMs - beganMs)
    if (response !== null) this.#checkBilled(action, response)
    const sinceMs = beganMs - (this.#revokedMs.get(keyId) ?? Number.POSITIVE_INFINITY)
    if (sinceMs > revokedUseMs && status === 200)
      this.violate(`request ${number} was served ${sinceMs} ms after its key ${keyId} was revoked`)
  }

  /** Without faults of the world the gateway has none: what a provider does is all that a request may fail for. */
  #checkServed(action: ChatAction, response: SimResponse | null, tookMs: number): void {
    const { number, leavesAfter, leavesAfterMs, router, attempts } = action
    const status = response?.status ?? 0
    const leaves = leavesAfter !== null || leavesAfterMs !== undefined
    const isLeft = leaves && status === 0
    // Before the first byte the next candidate is tried.
    if (this.#isCalm && router && attempts[1] === 'answers' && !admitted.has(status) && !leaves)
      this.violate(`request ${number} ended with ${status}, and its second provider answers`)
    if (this.#isSwift && tookMs > swiftAnswerMs)
      this.violate(`request ${number} took ${tookMs} ms, and nothing kept it`)
    if (this.#isCalm && unexplained.has(status) && !isLeft)
      this.violate(`request ${number} ended with ${status}, and there was no fault: ${response?.body}`)
  }

  #keyOf({ workspace, isLimitedKey, newKey }: Pick<ChatAction, 'workspace' | 'isLimitedKey' | 'newKey'>): IssuedKey {
    const keys = this.#keys
    const drawn = newKey === null ? undefined : keys.draw(workspace, newKey)
    return drawn ?? (isLimitedKey ? keys.limited(workspace) : keys.first(workspace))
  }

  async #submitVideo(action: VideoAction, edge: SimProcess, port: number): Promise<void> {
    const { network, time } = this.#simulator
    const { secret } = this.#keyOf({ ...action, newKey: null })
    const response = await exchange(network, port, { ...submitOf(action, secret), leavesAfter: null })
    this.#note('client', `video ${action.number} ended with ${response?.status} ${response?.body}`)
    const taskId = this.videos.noteSubmit(action, response, edge)
    if (taskId === null) return
    for (const afterMs of action.readsAfterMs)
      time.scheduleFor(undefined, afterMs, () => void this.#readVideo(taskId, secret))
  }

  async #readVideo(taskId: string, secret: string): Promise<void> {
    const { network, random } = this.#simulator
    const edges = this.#edges()
    const [, port] = edges[Math.floor(random() * edges.length)] ?? []
    if (port === undefined) return
    const response = await exchange(network, port, { ...readTaskOf(taskId, secret), leavesAfter: null })
    this.#note('client', `task ${taskId} is ${response?.status} ${response?.body}`)
    this.videos.noteRead(taskId, response)
  }

  async #administer(action: AdminAction, port: number): Promise<void> {
    const request = adminRequest(action, this.#keys, this.#simulator.time.wallMs())
    if (request === null) return
    const headers = { authorization: `Bearer ${adminToken}` }
    const response = await exchange(this.#simulator.network, port, { ...request, headers, leavesAfter: null })
    this.#note('admin', `${action.type} ended with ${response?.status} ${response?.body.slice(0, 200)}`)
    // What expires so soon may have expired by the clock of the edge.
    if (response?.status === 400 && !Object.hasOwn(request.body, 'expires_at'))
      this.violate(`the admin API refuses ${action.type}: ${response.body}`)
    if (response?.isComplete && response.status < 300) this.#checkAdministered(action, request.path, response)
  }

  /** What was answered is in the log. */
  #checkAdministered(action: AdminAction, path: string, { body }: SimResponse): void {
    const { id, secret } = JSON.parse(body) as { readonly id: string; readonly secret: string }
    const isKey = action.type === 'issue_key' || action.type === 'rotate_key'
    if (isKey) this.#keys.add(action.workspace, { keyId: id, secret })
    const name = isKey
      ? id
      : action.type === 'credit'
        ? action.reference
        : action.type === 'subscribe'
          ? action.id
          : null
    if (name !== null) this.#checkRecorded(action.type, name)
    if (action.type === 'rotate_key') this.#checkRecorded(action.type, `${path.split('/').at(-2)} by ${id}`)
  }

  #checkRecorded(type: string, name: string): void {
    if (!this.observer.known.has(name)) this.violate(`${type} ${name} was answered, and is not in the log`)
  }

  /** No answer without its bill: it is in the log when the answer is complete. */
  #checkBilled({ number, stream }: ChatAction, response: SimResponse): void {
    const { status, headers, body, isComplete } = response
    const isWhole = isComplete && (!stream || body.includes('data: [DONE]'))
    if (status !== 200 || !isWhole || body.includes('data: {"error"')) return
    const requestId = headers.get('x-gateway-original-request-id') ?? headers.get('x-request-id') ?? ''
    const closing = this.observer.requests.get(requestId)?.closing
    if (closing?.type !== 'UsageRecorded') this.violate(`request ${number} (${requestId}) was answered without a bill`)
    else if (closing.data.source === 'reported' && closing.data.usage.outputTotal !== number)
      this.violate(`request ${number} (${requestId}) has the bill of ${closing.data.usage.outputTotal}`)
  }

  /** Wherever the tables are as far as the log. */
  #checkRows(): void {
    const { ledger, shadow } = this.observer
    if (this.tables.sequence === ledger.sequence) checkRows(this.tables.rows, shadow, (text) => this.violate(text))
  }

  #count(event: string): void {
    this.events.set(event, (this.events.get(event) ?? 0) + 1)
  }

  #note(who: string, text: string): void {
    const line = `${this.#simulator.time.nowMs.toFixed(3)} ${who}: ${text}`
    this.#noted += line
    if (this.#noted.length > notedMax) this.#digestNoted()
    this.#trace(line)
  }

  removed(stream: string, subject: string): void {
    if (stream === `${logName}_TASKS`) this.#queue.removed(subject)
  }

  stored(stream: string, message: Parameters<Observer['take']>[0]): void {
    if (stream === `${logName}_TASKS`) this.#queue.stored(message.subject, message.data)
    if (stream !== logName) return
    try {
      const frame = this.observer.take(message)
      if (this.#sender !== undefined) this.#writers.set(frame.writer, this.#sender)
      for (const event of frame.events) {
        this.#count(event.type)
        if (event.type === 'KeyRevoked') this.#revokedMs.set(event.data.keyId, this.#simulator.time.nowMs)
        if (event.type === 'HoldPlaced' && event.data.purpose === 'task') this.#queue.held(event.data.holdId)
        if (event.type === 'RequestRouted') this.#routedMs.set(event.data.requestId, this.#simulator.time.nowMs)
      }
      this.#note('log', `${frame.sequence} ${frame.events.map(({ type }) => type).join(' ')}`)
    } catch (fault) {
      this.violate(`frame ${message.sequence} cannot be folded: ${faultText(fault)}`)
    }
  }

  /** Requests that were routed and not ended, though the edge that routed them lives. */
  #unended(): readonly string[] {
    return [...this.observer.ledger.openRequests.entries()].flatMap(([requestId, { routed, closing }]) => {
      if (routed === null || closing !== null) return []
      const writer = routed.source.split('/').at(-1) ?? ''
      return this.#isLost(writer) || this.#isEndLost(requestId) ? [] : [requestId]
    })
  }

  /** Whether its proxy may have been killed after it had reported to the edge an error that the log had not taken. */
  #isEndLost(requestId: string): boolean {
    const response = this.#journal.find((each) => each.response?.headers.get('x-request-id') === requestId)?.response
    const isUnknown = !response?.isComplete || response.status >= 500 || response.body.includes('data: {"error"')
    const sinceMs = this.#routedMs.get(requestId) ?? 0
    const isAfter = (atMs = 0): boolean => atMs > sinceMs
    return (
      isUnknown &&
      [...this.#crashed].some(([process, atMs]) => isAfter(atMs) && isAfter(this.#unacknowledgedMs.get(process)))
    )
  }

  #isLost(writer: string): boolean {
    const process = this.#writers.get(writer)
    return process === undefined || this.#crashed.has(process)
  }
}

/** Runs a plan to its end. The same plan gives the same report. */
export const runPlan = async (plan: Plan, options: RunOptions = {}): Promise<Report> => {
  let world: World | undefined
  const random = randomOf(plan.seed)
  return simulate(
    {
      seed: plan.seed,
      rule: random() < 0.5 ? 'duplicate_first' : 'sequence_first',
      duplicateWindowMs: random() < 0.5 ? 3_000 : undefined,
      faults: {
        acknowledgement: (subject) => world?.acknowledgement(subject) ?? { isLost: false, delayMs: 0 },
        reach: (process, subject, place) => world?.reach(process, subject, place) ?? true,
        losesMessage: (subject) => world?.losesMessage(subject) ?? false,
        stored: (stream, message) => world?.stored(stream, message),
        removed: (stream, message) => world?.removed(stream, message.subject),
      },
    },
    async (simulator) => {
      world = new World(plan, simulator, options)
      await world.run()
      const { violations, traceHash, ports, statuses, events, observer } = world
      const { nowMs: simulatedMs, steps } = simulator.time
      return {
        ...{ violations, traceHash, simulatedMs, steps, statuses, events },
        frames: observer.frames.length,
        portCalls: ports.calls,
        crashes: ports.crashes,
      }
    },
  )
}
