import type { AcknowledgedSubject, Fault } from './plan.ts'
import { natsPortOf, type Ports } from './ports.ts'
import { runIn } from './process.ts'
import type { Processes } from './processes.ts'
import type { RateChecks } from './rate-checks.ts'
import type { Simulator } from './simulator.ts'
import type { SimTables } from './tables.ts'
import type { Note } from './trace.ts'
import type { SimVendor } from './vendor.ts'

interface FaultsParts {
  readonly simulator: Simulator
  readonly processes: Processes
  readonly ports: Ports
  readonly tables: SimTables
  readonly vendor: SimVendor
  readonly rates: RateChecks
  readonly note: Note
}

/** Packets that are lost over a longer time may be all that a process sends in it. */
const lossMs = 300
/** In one direction between two processes: when all is lost in both for several seconds, each rightly takes the other for lost. */
const unbrokenLossMs = 2_000

/** What a plan does to the world. */
export class Faults {
  readonly #parts: FaultsParts
  /** How many are still to be lost. */
  readonly #lostAcknowledgements = new Map<AcknowledgedSubject, number>()
  #lostPackets = 0
  /** Since when all packets on a subject are lost. */
  readonly #lostSinceMs = new Map<string, number>()
  #delayUntilMs = 0
  #delayMs = 0

  constructor(parts: FaultsParts) {
    this.#parts = parts
  }

  /** Of those that go on; what is down comes back in its time. */
  end(): void {
    this.#parts.ports.disarm()
    this.#lostAcknowledgements.clear()
    this.#lostPackets = 0
    this.#parts.processes.resetClocks()
  }

  inflict(fault: Fault): void {
    const { ports, tables, vendor, processes, rates } = this.#parts
    const { time, network, nats, server } = this.#parts.simulator
    this.#parts.note('fault', () => JSON.stringify(fault))
    const process = 'host' in fault ? processes.at(fault.host) : null
    switch (fault.type) {
      case 'crash_at': {
        const called = [...ports.calls.keys()].toSorted()
        const port = typeof fault.port === 'string' ? fault.port : called[fault.port % called.length]
        if (port !== undefined) ports.arm(port, fault)
        break
      }
      case 'kill':
        processes.crash(process, 'killed', fault.isSilent)
        break
      case 'stop':
        void processes.stopAt(fault.host)
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
        rates.forget()
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
        rates.end()
        break
      case 'tables_down':
        tables.downUntilMs = time.nowMs + fault.ms
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
        void processes.passNight(fault.isKilled)
        break
      case 'vendor_down':
        vendor.downUntilMs = time.nowMs + fault.ms
        break
    }
  }

  acknowledgement(subject: string): { readonly isLost: boolean; readonly delayMs: number } {
    const { time } = this.#parts.simulator
    const kind = subject.split('.')[1] as AcknowledgedSubject
    const left = this.#lostAcknowledgements.get(kind) ?? 0
    if (left > 0) {
      this.#lostAcknowledgements.set(kind, left - 1)
      this.#parts.note('nats', () => `loses the acknowledgement on ${subject}`)
      return { isLost: true, delayMs: 0 }
    }
    return { isLost: false, delayMs: time.nowMs < this.#delayUntilMs ? this.#delayMs : 0 }
  }

  losesMessage(subject: string): boolean {
    const { nowMs } = this.#parts.simulator.time
    const sinceMs = this.#lostSinceMs.get(subject) ?? nowMs
    const isLossy = this.#lostPackets > 0 && natsPortOf(subject).startsWith('calls.packets')
    if (!isLossy || nowMs - sinceMs > unbrokenLossMs) {
      this.#lostSinceMs.delete(subject)
      return false
    }
    this.#lostSinceMs.set(subject, sinceMs)
    this.#lostPackets -= 1
    this.#parts.note('nats', () => `loses packets on ${subject}`)
    return true
  }
}
