import type { SignedHead } from '../../src/audit/signed-head.ts'
import { faultText } from '../../src/errors/gateway-error.ts'
import type { Logger } from '../../src/runtime/logger.ts'
import { SimHeadStore } from './head-store.ts'
import { type HostKind, hostStarters } from './hosts.ts'
import { runIn, SimProcess } from './process.ts'
import { createSimRuntime } from './runtime.ts'
import type { Simulator } from './simulator.ts'
import type { HostParts, Start } from './start.ts'
import type { Note } from './trace.ts'

interface Host {
  readonly name: string
  readonly kind: HostKind
  readonly heads: SimHeadStore
  process: SimProcess | null
  /** Settles once the process is started or cannot start. */
  started: Promise<void>
  /** It is being stopped. */
  stopping: SimProcess | null
  stops: { stop(): Promise<unknown> }[]
}

interface ProcessesParts {
  readonly simulator: Simulator
  readonly kinds: readonly HostKind[]
  readonly started: Omit<HostParts, 'listening'>
  /** What nothing has signed yet. */
  readonly emptyHead: SignedHead
  readonly isCalm: boolean
  readonly note: Note
  readonly violate: (text: string) => void
  /** Called with each event of their own logs. */
  readonly logged: (event: string) => void
}

export const restartMs = 700
const dayMs = 86_400_000
/** Of the processes' logs: nothing that happens here explains them. */
const impossible: ReadonlySet<string> = new Set(['snapshot.unreadable', 'seal.stopped', 'projection.row_mismatch'])
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

/** The processes of the gateway, from their starts to their ends; each starts again. */
export class Processes {
  isNight = false
  /** Before, there are only the accounts. */
  areStarted = false
  readonly #parts: ProcessesParts
  readonly #hosts: readonly Host[]
  readonly #sharedHeads: SimHeadStore
  readonly #listening = new Map<SimProcess, number>()
  /** Until when the log did not acknowledge what a process appended, as it reported. */
  readonly #unacknowledgedMs = new Map<SimProcess, number>()
  /** When. */
  readonly #crashed = new Map<SimProcess, number>()

  constructor(parts: ProcessesParts) {
    this.#parts = parts
    const newHeads = (place: string): SimHeadStore => new SimHeadStore(place, parts.started.ports, parts.emptyHead)
    this.#sharedHeads = newHeads('table')
    this.#hosts = parts.kinds.map((kind, index) => ({
      name: `${kind}-${index}`,
      kind,
      heads: newHeads('file'),
      process: null,
      started: Promise.resolve(),
      stopping: null,
      stops: [],
    }))
  }

  startAll(): void {
    this.areStarted = true
    for (const host of this.#hosts) void this.#start(host)
  }

  isCrashed(process: SimProcess): boolean {
    return this.#crashed.has(process)
  }

  /** Whether one was killed since then that had something to append. */
  hasLostSince(sinceMs: number): boolean {
    const isAfter = (atMs = 0): boolean => atMs > sinceMs
    return [...this.#crashed].some(([process, atMs]) => isAfter(atMs) && isAfter(this.#unacknowledgedMs.get(process)))
  }

  resetClocks(): void {
    for (const { process } of this.#hosts) if (process !== null) process.clockOffsetMs = 0
  }

  at(index: number): SimProcess | null {
    return this.#hostAt(index).process
  }

  async stopAt(index: number): Promise<void> {
    await this.#stop(this.#hostAt(index))
  }

  /** Those that listen, with their ports. */
  edges(): readonly (readonly [SimProcess, number])[] {
    return [...this.#listening].filter(([process]) => !process.isDead)
  }

  startOf(process: SimProcess, name: string, host?: Host): Start {
    const logger: Logger = {
      log: (event, fields) => {
        this.#parts.logged(event)
        // Logged when it begins, and once a minute; until it has recovered, it goes on.
        if (event === 'log.append_unacknowledged') this.#unacknowledgedMs.set(process, Number.POSITIVE_INFINITY)
        if (event === 'log.append_recovered') this.#unacknowledgedMs.set(process, this.#parts.simulator.time.nowMs)
        if (impossible.has(event) || (this.#parts.isCalm && !ordinary.has(event)))
          this.#parts.violate(`${name} logs ${event} ${faultText(fields['fault' as never])}`)
        this.#parts.note(
          name,
          () => `${event} ${JSON.stringify(fields, (_, each) => (each instanceof Error ? each.message : each))}`,
        )
      },
    }
    const { time, random } = this.#parts.simulator
    const runtime = createSimRuntime(process, { time, random, logger })
    return {
      ...this.#parts.started,
      listening: (listening, port) => void this.#listening.set(listening, port),
      process,
      runtime,
      heads: host?.heads ?? this.#sharedHeads,
      sharedHeads: this.#sharedHeads,
      onFatal: (fault) => {
        if (process.isDead) return
        this.#parts.violate(`${name} ended by a fatal fault: ${faultText(fault)}`)
        this.crash(process, 'fatal')
      },
      push: (part) => {
        host?.stops.push(part)
        return part
      },
    }
  }

  crash(process: SimProcess | null, why: string, isSilent = false): void {
    if (process === null || process.isDead) return
    this.#parts.note(process.name, () => `dies ${why}`)
    this.#crashed.set(process, this.#parts.simulator.time.nowMs)
    process.die()
    if (!isSilent) this.#parts.simulator.network.dropAll(process)
  }

  /** Repeats under an idempotency key, which is kept for a day, come within half a minute. */
  async passNight(isKilled: boolean): Promise<void> {
    this.isNight = true
    await Promise.all(
      this.#hosts.map(async (host) => {
        if (isKilled) for (const process of [host.process, host.stopping]) this.crash(process, 'before the night')
        else await this.#stop(host)
        while (host.stopping !== null) await this.#parts.simulator.time.sleep(restartMs)
      }),
    )
    this.#parts.simulator.time.wallOffsetMs += dayMs - 40_000
    this.#parts.note('fault', () => 'a night went by')
    this.isNight = false
    this.startAll()
  }

  #hostAt(index: number): Host {
    return this.#hosts[index % this.#hosts.length]!
  }

  #start(host: Host): Promise<void> {
    const process = new SimProcess(host.name)
    host.process = process
    host.stops = []
    this.#parts.note(host.name, () => 'starts')
    process.onDeath(() => this.#onDeath(host, process))
    host.started = this.#run(host, process)
    return host.started
  }

  async #run(host: Host, process: SimProcess): Promise<void> {
    try {
      await runIn(process, () => hostStarters[host.kind](this.startOf(process, host.name, host)))
      this.#parts.note(host.name, () => 'is started')
    } catch (fault) {
      this.#parts.note(host.name, () => `cannot start: ${faultText(fault)}`)
      if (!process.isDead) this.crash(process, 'at its start')
    }
  }

  #onDeath(host: Host, process: SimProcess): void {
    const { time, random } = this.#parts.simulator
    this.#listening.delete(process)
    if (host.process !== process) return
    host.process = null
    if (this.isNight) return
    time.scheduleFor(undefined, restartMs * (0.5 + random()), () => {
      if (host.process === null && !this.isNight) void this.#start(host)
    })
  }

  /** As on SIGTERM, which has its effect once the process is started; then the host starts again. */
  async #stop(host: Host): Promise<void> {
    const { process, started, stops } = host
    if (process === null) return
    const { time } = this.#parts.simulator
    this.#parts.note(host.name, () => 'is stopped')
    host.process = null
    host.stopping = process
    const death = new Promise<void>((resolve) => process.onDeath(resolve))
    await Promise.race([started, death])
    const beganMs = time.nowMs
    this.#listening.delete(process)
    try {
      await runIn(process, async () => {
        for (const part of stops.reverse()) await Promise.race([part.stop(), death])
      })
    } catch (fault) {
      this.#parts.note(host.name, () => `does not stop well: ${faultText(fault)}`)
    }
    if (process.isDead) this.#parts.note(host.name, () => 'died while it stopped')
    // What the log has not taken by the end of its time to stop is lost, as if it were killed.
    else if ((this.#unacknowledgedMs.get(process) ?? 0) >= beganMs) this.#crashed.set(process, time.nowMs)
    process.die()
    host.stopping = null
    this.#parts.simulator.network.dropAll(process)
    if (!this.isNight) await this.#start(host)
  }
}
