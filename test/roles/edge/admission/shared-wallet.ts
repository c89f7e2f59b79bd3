import { setImmediate as turn } from 'node:timers/promises'
import type { Test } from 'tap'
import { findOrCreateWallet, initialLedger } from '../../../../src/domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../../../src/domain/money.ts'
import type { Wallet } from '../../../../src/domain/wallet/wallet.ts'
import { logUnavailable } from '../../../../src/errors/gateway-error.ts'
import type { Fact, FactOf } from '../../../../src/events/envelope.ts'
import type { EventLog, Follower, Frame } from '../../../../src/log/event-log.ts'
import { LedgerTail } from '../../../../src/log/ledger-tail.ts'
import { WalletCommandHandler } from '../../../../src/log/wallet-command-handler.ts'
import { Allowances } from '../../../../src/roles/edge/admission/allowances.ts'
import type { Reservation } from '../../../../src/roles/edge/admission/spender.ts'
import type { Clock } from '../../../../src/runtime/clock.ts'
import { sharedLimits } from '../../../../src/runtime/limits.ts'
import { waitAtMost } from '../../../../src/runtime/within.ts'
import { type LogLine, recordingLogger } from '../../../support/log-lines.ts'
import { MemoryLog } from '../../../support/memory-log.ts'
import { randomOf } from '../../../support/random.ts'
import { credited, opened, routed, used, workspaceId } from '../../projector/facts.ts'

/** A whole number from 0 to below the bound. */
export type Below = (bound: number) => number

/** So many turns of the event loop, whatever a network would take. */
export const turns = async (count: number): Promise<void> => {
  for (let left = count; left > 0; left -= 1) await turn()
}

/** The log at the end of a network: frames are on their way for a while, in both directions. */
class DistantLog implements Pick<EventLog, 'appendToWallet' | 'follow'> {
  readonly #log: MemoryLog
  readonly #travel: () => Promise<void>
  refuses = false

  constructor(log: MemoryLog, travel: () => Promise<void>) {
    this.#log = log
    this.#travel = travel
  }

  async appendToWallet(workspaceId: string, facts: readonly Fact[], expectedSequence: number) {
    if (this.refuses) throw logUnavailable()
    await this.#travel()
    const appended = await this.#log.appendToWallet(workspaceId, facts, expectedSequence)
    await this.#travel()
    return appended
  }

  follow(fromSequence: number, onFrame: (frame: Frame) => void | Promise<void>): Follower {
    let delivered: Promise<unknown> = Promise.resolve()
    return this.#log.follow(fromSequence, (frame) => {
      delivered = Promise.all([this.#travel(), delivered]).then(() => onFrame(frame))
    })
  }
}

export interface Edge {
  readonly allowances: Allowances
  readonly tail: LedgerTail
}

export interface SharedWallet {
  readonly log: MemoryLog
  readonly edges: readonly Edge[]
  readonly below: Below
  /** As the log itself says. */
  readonly wallet: () => Wallet
  /** What was true of some frame and should never be. */
  readonly faults: string[]
  readonly logged: LogLine[]
  /** True: the log takes no wallet frame from the edges. */
  readonly breakOff: (broken: boolean) => void
  /** Takes an allowance back as the scheduler does. */
  readonly expire: (holdId: string) => Promise<unknown>
  readonly route: (requestId: string, reservation: Reservation) => Promise<unknown>
  /** Routes and serves an admitted request that takes so many turns. */
  readonly spend: (requestId: string, reservation: Reservation, costPicos: bigint, lastsTurns: number) => Promise<void>
  readonly stop: () => Promise<void>
}

export interface SharedWalletOptions {
  readonly seed: number
  readonly creditPicos: bigint
  readonly limits?: readonly FactOf<'LimitsSet'>[]
  /** Turns that a frame travels at most, for each edge. */
  readonly distances?: readonly number[]
  readonly clock?: Clock
}

/** Writes down where money is spent twice: a wallet below zero, or a request whose allowance does not cover it. */
const audit = (tail: LedgerTail, faults: string[]): void => {
  const open = new Map<string, { readonly holdId: string; readonly picos: bigint }>()
  tail.onApplied((applied) => {
    for (const { event, closed } of applied) {
      if (event.type === 'RequestRouted' && closed === null)
        open.set(event.data.requestId, { holdId: event.data.allowanceId ?? '', picos: parseUsd(event.data.reserved) })
      if (closed !== null) open.delete(closed.routed.data.requestId)
    }
    const { holds, heldPicos, ...wallet } = findOrCreateWallet(tail.ledger, workspaceId)
    const balance = wallet.creditsPicos - wallet.chargesPicos
    if (balance < heldPicos) faults.push(`frame ${tail.ledger.sequence}: ${balance} does not cover ${heldPicos}`)
    const reserved = new Map<string, bigint>()
    for (const { holdId, picos } of open.values()) reserved.set(holdId, (reserved.get(holdId) ?? 0n) + picos)
    for (const [holdId, picos] of reserved)
      if (picos > (holds.get(holdId)?.remainingPicos ?? 0n)) faults.push(`hold ${holdId} does not cover ${picos}`)
  })
}

/** Several edges, each with a tail of its own, on one log and one wallet. The clock runs five times as fast, unless another is given. */
export const openSharedWallet = async (t: Test, options: SharedWalletOptions): Promise<SharedWallet> => {
  const { seed, creditPicos, limits = [], distances = [4, 4, 4] } = options
  const { requestDeadlineMs } = sharedLimits
  const random = randomOf(seed)
  const below: Below = (bound) => Math.floor(random() * bound)
  const startedMs = Date.now()
  const clock = options.clock ?? ((): number => startedMs + 5 * (Date.now() - startedMs))
  const log = new MemoryLog()
  await log.append([opened(workspaceId, '0')])
  await log.postToWallet(workspaceId, [credited('credit-1', formatUsd(creditPicos))])
  await log.postToWallet(workspaceId, [...limits])
  let ids = 0
  const newId = (): string => {
    ids += 1
    return `id-${ids}`
  }
  const logged: LogLine[] = []
  const logger = recordingLogger(logged)
  const logs: DistantLog[] = []
  const edges = distances.map((turnsMax, index): Edge => {
    const near = new DistantLog(log, () => turns(below(turnsMax)))
    logs.push(near)
    const tail = new LedgerTail(initialLedger(), near)
    const writer = new WalletCommandHandler(near, tail)
    const owner = `edge-${index}`
    return {
      tail,
      allowances: new Allowances({ tail, writer, owner, clock, newId, logger, requestDeadlineMs }),
    }
  })
  const tail = new LedgerTail(initialLedger(), log)
  const faults: string[] = []
  audit(tail, faults)
  for (const each of [tail, ...edges.map((edge) => edge.tail)]) await each.waitForSequence(log.frames.length)
  const stopAll = async (): Promise<void> => {
    await Promise.all(edges.map(({ allowances }) => waitAtMost(allowances.ended(), 1_000)))
    await Promise.all(edges.map(({ allowances }) => allowances.close()))
    await tail.waitForSequence(await log.lastSequence())
    await Promise.all([tail, ...edges.map((edge) => edge.tail)].map((each) => each.stop()))
  }
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopped ??= stopAll()
    return stopped
  }
  t.teardown(stop)
  const route = (requestId: string, { allowanceId, reservedPicos }: Reservation): Promise<unknown> =>
    log.append([routed(requestId, { allowanceId, reserved: formatUsd(reservedPicos) })])
  return {
    log,
    edges,
    below,
    faults,
    logged,
    wallet: () => findOrCreateWallet(tail.ledger, workspaceId),
    breakOff: (broken) => {
      for (const each of logs) each.refuses = broken
    },
    expire: (holdId) =>
      log.postToWallet(workspaceId, [{ type: 'HoldReleased', data: { holdId, workspaceId, reason: 'expired' } }]),
    route,
    spend: async (requestId, reservation, costPicos, lastsTurns) => {
      await route(requestId, reservation)
      await turns(lastsTurns)
      const { allowanceId, reservedPicos } = reservation
      const billed = { allowanceId, reserved: formatUsd(reservedPicos), total: formatUsd(costPicos) }
      await log.append([used(requestId, billed)])
    },
    stop,
  }
}
