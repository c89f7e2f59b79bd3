import { applyFrame, initialLedger } from '../../src/domain/ledger/ledger.ts'
import { parseUsd } from '../../src/domain/money.ts'
import { balancePicos } from '../../src/domain/wallet/wallet.ts'
import { BatchAccumulator } from '../../src/roles/projector/batch-accumulator.ts'
import type { SimResponse } from './clients.ts'
import { keyedTag } from './hosts.ts'
import type { Observer } from './observer.ts'
import type { ChatAction } from './plan.ts'
import type { SimProcess } from './process.ts'
import type { ShadowLedger } from './shadow-ledger.ts'
import { type SimTables, TableRows } from './tables.ts'
import type { SimUpstream } from './upstream.ts'
import type { VideoClients } from './videos.ts'

export interface JournalEntry {
  readonly action: ChatAction
  readonly response: SimResponse | null
  readonly edge: SimProcess
}

export interface EndCheckParts {
  readonly observer: Observer
  readonly tables: SimTables
  readonly upstream: SimUpstream
  readonly videos: VideoClients
  readonly journal: readonly JournalEntry[]
  /** Of the credits that are given. */
  readonly references: ReadonlySet<string>
  readonly violate: (text: string) => void
  /** Requests that were routed and not ended, though the edge that routed them lives. */
  readonly unended: () => readonly string[]
  readonly isEndLost: (requestId: string) => boolean
  readonly isSealed: () => boolean
  readonly overdue: () => readonly string[]
  readonly isCrashed: (process: SimProcess) => boolean
  readonly writerOf: (writer: string) => SimProcess | undefined
}

/** They count once by an id of their own; requests and what lapses do by the ids of their frames. */
const countOnce: ReadonlySet<string> = new Set([
  'AdjustmentPosted',
  'HoldPlaced',
  'HoldReleased',
  'PlanRenewed',
  'PlanSubscribed',
  'TaskSettled',
  'WalletCredited',
])

/** The rows of wallets and holds, against what the events say. */
export const checkRows = (rows: TableRows, shadow: ShadowLedger, violate: (text: string) => void): void => {
  const open = [...shadow.wallets.values()].reduce((count, { holds }) => count + holds.size, 0)
  if (rows.count('holds') !== open) violate(`the table of holds has ${rows.count('holds')} rows for ${open} holds`)
  for (const [workspaceId, { balancePicos: expected, holds }] of shadow.wallets) {
    const wallet = rows.find('wallets', workspaceId)
    const [balance, held] = ['balance', 'held'].map((name) => parseUsd(String(wallet?.[name] ?? '0')))
    if (balance !== expected || held !== shadow.heldPicos(workspaceId))
      violate(`the table of wallets has ${balance} and ${held} held for ${workspaceId}, its events ${expected}`)
    for (const [holdId, { picos }] of holds) {
      const remaining = rows.find('holds', workspaceId, holdId)?.['remaining']
      if (remaining === undefined || parseUsd(String(remaining)) !== picos)
        violate(`the table of holds has ${String(remaining)} in ${holdId}, by its events ${picos}`)
    }
  }
}

/** What must hold once faults have stopped and everything has drained. */
export class EndChecks {
  readonly #parts: EndCheckParts

  constructor(parts: EndCheckParts) {
    this.#parts = parts
  }

  #violate(text: string): void {
    this.#parts.violate(text)
  }

  checkAll(): void {
    const { ledger } = this.#parts.observer
    for (const { workspaceId, holds, heldPicos } of ledger.wallets.values())
      if (holds.size > 0 || heldPicos !== 0n)
        this.#violate(`${workspaceId} still holds ${heldPicos} in ${holds.size} holds: ${[...holds.keys()]}`)
    for (const requestId of this.#parts.unended())
      this.#violate(`request ${requestId} has no end, and its edge was not killed`)
    this.#checkUnrouted()
    this.#checkExpired()
    this.#checkCredits()
    this.#checkTables()
    this.#checkStoredAgain()
    this.#checkServices()
    this.#checkRepeats()
    this.#checkFailures()
    this.#checkParts()
    this.#checkReserved()
    this.#checkUsage()
    for (const text of this.#parts.overdue()) this.#violate(text)
    this.#parts.videos.check(this.#parts.isCrashed)
    for (const taskId of this.#parts.videos.unrecorded())
      this.#violate(`the vendor has ended ${taskId}, and the log does not know it`)
    if (!this.#parts.isSealed())
      this.#violate(`the log is sealed to ${ledger.sealed?.size} of ${ledger.sequence} frames`)
  }

  /** No provider is called for a request that the log does not know. */
  #checkUnrouted(): void {
    for (const [requestId, { routed, closing }] of this.#parts.observer.requests)
      if (routed === null && closing?.type === 'UsageRecorded')
        this.#violate(`request ${requestId} has a bill, and was never routed`)
  }

  /** A living edge returns what it holds before it expires. */
  #checkExpired(): void {
    for (const { holdId, owner, purpose } of this.#parts.observer.expired) {
      const process = this.#parts.writerOf(owner)
      if (purpose === 'allowance' && process !== undefined && !process.isDead && !this.#isKept(holdId))
        this.#violate(`hold ${holdId} expired while its edge was living`)
    }
  }

  /** By a request whose end is lost. */
  #isKept(holdId: string): boolean {
    return [...this.#parts.observer.requests].some(
      ([requestId, { routed }]) => routed?.data.allowanceId === holdId && this.#parts.isEndLost(requestId),
    )
  }

  /** Money comes from those who were asked to give it. */
  #checkCredits(): void {
    const { observer, references } = this.#parts
    for (const { events } of observer.frames)
      for (const event of events)
        if (event.type === 'WalletCredited' && !references.has(event.data.reference))
          this.#violate(`nobody gave the credit ${event.data.reference}`)
  }

  #checkTables(): void {
    const { frames, ledger } = this.#parts.observer
    if (this.#parts.tables.sequence !== ledger.sequence)
      this.#violate(`the tables are at ${this.#parts.tables.sequence}, the log at ${ledger.sequence}`)
    checkRows(this.#parts.tables.rows, this.#parts.observer.shadow, (text) => this.#violate(text))
    const rebuilt = new TableRows()
    const fold = initialLedger()
    const batch = new BatchAccumulator(0)
    for (const frame of frames) {
      batch.add(frame, applyFrame(fold, frame))
      if (frame.sequence % 50 === 0) rebuilt.write(batch.takeBatch(fold).changes)
    }
    rebuilt.write(batch.takeBatch(fold).changes)
    const difference = this.#parts.tables.rows.findDifference(rebuilt)
    if (difference !== null) this.#violate(`tables and rebuild differ: ${difference}`)
  }

  /** Facts that are stored again, in frames with other ids, move no money. */
  #checkStoredAgain(): void {
    const { frames, shadow } = this.#parts.observer
    const fold = initialLedger()
    for (const frame of frames)
      for (const again of [
        frame,
        { ...frame, writer: `${frame.writer}-again`, events: frame.events.filter(({ type }) => countOnce.has(type)) },
      ])
        applyFrame(fold, { ...again, sequence: fold.sequence + 1 })
    for (const [workspaceId, wallet] of fold.wallets) {
      const { balancePicos: expected } = shadow.of(workspaceId)
      if (balancePicos(wallet) !== expected || wallet.heldPicos !== shadow.heldPicos(workspaceId))
        this.#violate(
          `with each fact stored twice ${workspaceId} has ${balancePicos(wallet)} and ${wallet.heldPicos} held, not ${expected}`,
        )
    }
  }

  /** What a provider has served whole is billed once, unless the proxy died. */
  #checkServices(): void {
    const billed = new Map<number, number>()
    for (const { closing } of this.#parts.observer.requests.values())
      if (closing?.type === 'UsageRecorded' && closing.data.source === 'reported') {
        const { outputTotal } = closing.data.usage
        billed.set(outputTotal, (billed.get(outputTotal) ?? 0) + 1)
      }
    const whole = new Map<number, number>()
    for (const { number, isReported, isComplete, process } of this.#parts.upstream.services) {
      if (isReported) whole.set(number, (whole.get(number) ?? 0) + 1)
      if (!isComplete) continue
      const isLost = process === undefined || this.#parts.isCrashed(process)
      if (!isLost && !this.#parts.observer.billedOutputs.has(number))
        this.#violate(`request ${number} was served and has no bill`)
    }
    for (const [number, bills] of billed)
      if (bills > (whole.get(number) ?? 0))
        this.#violate(`request ${number} has ${bills} bills, and was served ${whole.get(number) ?? 0} times`)
  }

  /** Of the requests under one idempotency key at most one is paid for. */
  #checkRepeats(): void {
    const paid = new Map<number, number>()
    for (const { closing, undelivered } of this.#parts.observer.requests.values())
      if (closing?.type === 'UsageRecorded' && closing.data.source === 'reported' && !undelivered) {
        const { outputTotal } = closing.data.usage
        paid.set(outputTotal, (paid.get(outputTotal) ?? 0) + 1)
      }
    for (const [number, count] of paid) if (count > 1) this.#violate(`request ${number} was paid for ${count} times`)
    const charged = new Map<string, string>()
    for (const [requestId, { routed }] of this.#parts.observer.requests) {
      const number = routed?.data.tags?.[keyedTag]
      if (number === undefined || !this.#isCharged(requestId)) continue
      const first = charged.get(number)
      if (first !== undefined) this.#violate(`request ${number} was charged as ${first} and ${requestId}`)
      charged.set(number, requestId)
    }
  }

  #isCharged(requestId: string): boolean {
    const request = this.#parts.observer.requests.get(requestId)
    if (request?.closing?.type !== 'UsageRecorded' || request.undelivered) return false
    return parseUsd(request.closing.data.total) > 0n
  }

  /** Whoever got an error before any content pays nothing, unless the edge died before it could take the charge back. */
  #checkFailures(): void {
    for (const { action, response, edge } of this.#parts.journal) {
      if (response === null || response.status === 200 || this.#parts.isCrashed(edge)) continue
      if (this.#isCharged(response.headers.get('x-request-id') ?? ''))
        this.#violate(`request ${action.number} failed with ${response.status} and was charged`)
    }
  }

  /** No more than was reserved is charged for what was asked for. */
  #checkReserved(): void {
    const { observer, upstream, journal } = this.#parts
    const overAsked = new Set(upstream.services.flatMap(({ number, isOverAsked }) => (isOverAsked ? [number] : [])))
    for (const { action, response } of journal) {
      const closing = observer.requests.get(response?.headers.get('x-request-id') ?? '')?.closing
      const isOverAsked = overAsked.has(action.number)
      if (isOverAsked || closing?.type !== 'UsageRecorded' || closing.data.source !== 'reported') continue
      const { total, reserved } = closing.data
      if (parseUsd(total) > parseUsd(reserved))
        this.#violate(`request ${action.number} was charged ${total}, and reserved ${reserved}`)
    }
  }

  /** The usage of all days is what was charged. */
  #checkUsage(): void {
    const { observer, tables } = this.#parts
    const bills = [...observer.requests.values()].map(({ routed, closing }) => (routed === null ? null : closing))
    const ends = [...[...observer.tasks.values()].map(({ end }) => end), ...bills]
    const charged = ends.reduce((sum, end) => (end && 'total' in end.data ? sum + parseUsd(end.data.total) : sum), 0n)
    const shown = tables.rows.all('usage_by_day').reduce((sum, { total }) => sum + parseUsd(String(total)), 0n)
    if (shown !== charged) this.#violate(`the usage of all days is ${shown}, and ${charged} was charged`)
  }

  /** A part of an answer is paid for, unless its process died. */
  #checkParts(): void {
    for (const { response, action, edge } of this.#parts.journal) {
      if (response?.status !== 200 || !response.body.includes('"content":"part') || this.#parts.isCrashed(edge))
        continue
      const requestId = response.headers.get('x-request-id') ?? ''
      const closing = this.#parts.observer.requests.get(requestId)?.closing
      if (closing?.type === 'RequestFailed' && !closing.source.includes('/edge/'))
        this.#violate(`request ${action.number} (${requestId}) was delivered in part, and is recorded as failed`)
    }
  }
}
