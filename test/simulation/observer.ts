import type { Verifier } from '../../src/audit/note.ts'
import { type Applied, applyFrame, initialLedger } from '../../src/domain/ledger/ledger.ts'
import { parseUsd } from '../../src/domain/money.ts'
import { balancePicos, type Hold } from '../../src/domain/wallet/wallet.ts'
import type { Event, EventOf } from '../../src/events/envelope.ts'
import type { Frame } from '../../src/log/event-log.ts'
import type { AllowedWriters } from '../../src/log/read-frame.ts'
import { frameFromRaw } from '../../src/log/source-log.ts'
import { ChargeChecks } from './charge-checks.ts'
import type { StoredMessage } from './nats/stream.ts'
import { SealChecks } from './seal-checks.ts'
import { ShadowLedger } from './shadow-ledger.ts'

type Closing = EventOf<'UsageRecorded'> | EventOf<'RequestFailed'>

/** What is known of one request. */
export interface ObservedRequest {
  routed: EventOf<'RequestRouted'> | null
  /** The first that came. */
  closing: Closing | null
  undelivered: boolean
}

type Verdict = EventOf<'TaskSettled'> | EventOf<'LateVerdictSeen'>

/** What is known of one video. */
export interface ObservedTask {
  readonly placed: EventOf<'HoldPlaced'>
  /** The first. */
  end: EventOf<'TaskSettled'> | EventOf<'HoldReleased'> | undefined
  readonly verdicts: Verdict[]
  hasVerdict: boolean
  undelivered: boolean
}

/** Decided under the sequence of their wallet: each moves money, or would not have been decided. */
const decided: ReadonlySet<string> = new Set([
  'WalletCredited',
  'CreditExpired',
  'PlanSubscribed',
  'PlanRenewed',
  'HoldPlaced',
  'HoldReleased',
])

const readId = (data: Buffer): string => data.toString('latin1', 0, data.indexOf('\n'))

/** Follows the log as it is stored, and checks after every frame what must hold at every instant. */
export class Observer {
  readonly ledger = initialLedger()
  readonly frames: Frame[] = []
  readonly requests = new Map<string, ObservedRequest>()
  readonly tasks = new Map<string, ObservedTask>()
  /** Of credits, subscriptions and keys, and of keys that took the place of others. */
  readonly known = new Set<string>()
  routedCount = 0
  /** Output tokens of every bill in the log, also of one that came after another end of its request. */
  readonly billedOutputs = new Set<number>()
  readonly #onViolation: (text: string) => void
  readonly #permitted: AllowedWriters
  readonly #prefix: string
  readonly shadow: ShadowLedger
  /** Holds that the scheduler released at their deadline. */
  readonly expired: Hold[] = []
  /** Reserved by the open requests of each allowance. */
  readonly #reserved = new Map<string, Map<string, bigint>>()
  /** Allowances of which a request cost more than it had reserved. */
  readonly #exceeded = new Set<string>()
  readonly #seals: SealChecks
  readonly #charges: ChargeChecks
  readonly #eventIds = new Set<string>()
  readonly #frameIds = new Set<string>()
  readonly #holds = new Set<string>()

  constructor(parts: {
    readonly onViolation: (text: string) => void
    readonly permitted: AllowedWriters
    readonly verifiers: readonly Verifier[]
    readonly prefix: string
  }) {
    this.#onViolation = parts.onViolation
    this.shadow = new ShadowLedger(parts.onViolation)
    this.#permitted = parts.permitted
    this.#seals = new SealChecks(parts.onViolation, parts.verifiers)
    this.#charges = new ChargeChecks(parts.onViolation)
    this.#prefix = parts.prefix
  }

  take({ sequence, subject, data, storedMs }: StoredMessage): Frame {
    const raw = { sequence, subject: subject.slice(this.#prefix.length), id: '', storedMs, data }
    const frame = frameFromRaw(raw, this.#permitted)
    this.frames.push(frame)
    if (frame.events.some(({ type }) => type === 'HoldPlaced')) this.#checkFrameId(readId(data))
    this.shadow.take(frame)
    this.#seals.check(raw)
    const applied = applyFrame(this.ledger, frame)
    for (const each of applied) this.#note(each)
    for (const each of applied) this.#checkReserved(each)
    for (const workspaceId of new Set(applied.map(({ event }) => event.subject))) this.#checkWallet(workspaceId)
    this.#seals.add(raw)
    return frame
  }

  /** The first end of a task that its vendor never had. */
  isRefusal(event: EventOf<'TaskSettled'>): boolean {
    return event.data.vendorTaskId === undefined && this.tasks.get(event.data.taskId)?.end === event
  }

  /** A decision is stored once, whatever its writer had to repeat; of other frames the fold accepts the first. */
  #checkFrameId(id: string): void {
    if (this.#frameIds.has(id)) this.#onViolation(`frame ${id} was stored twice`)
    this.#frameIds.add(id)
  }

  #note({ event, movements, released, closed }: Applied): void {
    // An adjustment that is stored again has its id, by which it counts once.
    const isWithoutEffect = event.type === 'AdjustmentPosted' && movements.length === 0
    if (this.#eventIds.has(event.id) && !isWithoutEffect)
      this.#onViolation(`event ${event.id} (${event.type}) was applied twice`)
    this.#eventIds.add(event.id)
    if (decided.has(event.type) && movements.length === 0 && !this.#isSettledMeanwhile(event))
      this.#onViolation(`${event.type} was decided, and has no effect: ${JSON.stringify(event.data)}`)
    if (event.type === 'HoldPlaced') this.#noteHold(event)
    if (event.type === 'HoldPlaced') this.#charges.checkHold(event)
    if (event.type === 'PricePublished') this.#charges.notePrice(event)
    if (event.type === 'HoldReleased' && event.data.reason === 'expired' && released !== null)
      this.expired.push(released)
    if (closed !== null) this.#unreserve(closed, movements)
    if (event.type === 'RequestRouted') this.routedCount += 1
    if (event.type === 'RequestRouted') this.#reserve(event)
    this.#noteKnown(event)
    if (event.type === 'RequestRouted') this.#requestOf(event.data.requestId).routed = event
    if (event.type === 'UsageRecorded' || event.type === 'RequestFailed') this.#noteClosing(event)
    if ('holdId' in event.data || 'taskId' in event.data) this.#noteTask(event)
    if (event.type === 'HoldReleased' || event.type === 'TaskSettled') this.#checkTaskEnded(event)
    if (event.type === 'AdjustmentPosted' && event.data.reason === 'undelivered') this.#noteUndelivered(event)
  }

  /** Verdicts are in the journal: whoever releases a hold may not know of one yet. */
  #isSettledMeanwhile({ type, data }: Event): boolean {
    return type === 'HoldReleased' && this.tasks.get(data.holdId)?.end?.type === 'TaskSettled'
  }

  #reserve({ data: { requestId, allowanceId, reserved } }: EventOf<'RequestRouted'>): void {
    if (allowanceId === null || this.requests.get(requestId)?.closing) return
    const open = this.#reserved.get(allowanceId) ?? new Map<string, bigint>()
    this.#reserved.set(allowanceId, open.set(requestId, parseUsd(reserved)))
  }

  /** No request is admitted that its allowance does not cover; asked when all of the frame is applied. */
  #checkReserved({ event }: Applied): void {
    if (event.type !== 'RequestRouted') return
    const { workspaceId, allowanceId } = event.data
    const hold = this.ledger.wallets.get(workspaceId)?.holds.get(allowanceId ?? '')
    if (allowanceId === null || hold === undefined || this.#exceeded.has(allowanceId)) return
    const sum = [...(this.#reserved.get(allowanceId)?.values() ?? [])].reduce((picos, each) => picos + each, 0n)
    if (sum > hold.remainingPicos)
      this.#onViolation(`the requests of allowance ${allowanceId} reserve ${sum}, it has ${hold.remainingPicos}`)
  }

  #unreserve({ routed }: NonNullable<Applied['closed']>, movements: Applied['movements']): void {
    const { requestId, allowanceId } = routed.data
    this.#reserved.get(allowanceId ?? '')?.delete(requestId)
    if (movements.some(({ kind }) => kind === 'excess')) this.#exceeded.add(allowanceId ?? '')
  }

  #noteKnown({ data }: Event): void {
    if ('reference' in data && data.reference !== undefined) this.known.add(data.reference)
    if ('subscriptionId' in data) this.known.add(data.subscriptionId)
    if ('keyId' in data && data.keyId !== undefined) this.known.add(data.keyId)
    if ('replaces' in data) this.known.add(`${data.replaces} by ${data.keyId}`)
  }

  #noteTask(event: Event): void {
    if (event.type === 'HoldPlaced' && event.data.task !== undefined) {
      this.tasks.set(event.data.holdId, {
        placed: event,
        end: undefined,
        verdicts: [],
        hasVerdict: false,
        undelivered: false,
      })
      return
    }
    if (event.type === 'HoldReleased') {
      const task = this.tasks.get(event.data.holdId)
      if (task !== undefined) task.end ??= event
    }
    if (event.type !== 'TaskSettled' && event.type !== 'LateVerdictSeen') return
    const task = this.tasks.get(event.data.taskId)
    if (task === undefined) {
      this.#onViolation(`${event.type} of ${event.data.taskId}, which has no hold`)
      return
    }
    this.#noteVerdict(task, event)
  }

  #checkTaskEnded({ data }: EventOf<'HoldReleased'> | EventOf<'TaskSettled'>): void {
    const taskId = 'taskId' in data ? data.taskId : data.holdId
    if (this.ledger.tasks.has(taskId)) this.#onViolation(`task ${taskId} has ended, and is open`)
  }

  #noteVerdict(task: ObservedTask, event: Verdict): void {
    // What was never submitted, or refused, has no verdict of the vendor.
    if (event.data.vendorTaskId !== undefined) task.verdicts.push(event)
    task.hasVerdict = true
    if (event.type === 'LateVerdictSeen' && task.end === undefined)
      this.#onViolation(`the verdict on ${event.data.taskId} is recorded as late before its hold ended`)
    if (event.type !== 'TaskSettled') return
    if (task.end === undefined) this.#charges.checkTask(task.placed, event)
    task.end ??= event
  }

  #noteHold({ data: { holdId } }: EventOf<'HoldPlaced'>): void {
    if (this.#holds.has(holdId)) this.#onViolation(`hold ${holdId} was placed twice`)
    this.#holds.add(holdId)
  }

  #noteClosing(event: Closing): void {
    const request = this.#requestOf(event.data.requestId)
    if (event.type === 'UsageRecorded') {
      this.billedOutputs.add(event.data.usage.outputTotal)
      this.#charges.checkUsage(event)
    }
    if (request.closing?.type === 'UsageRecorded' && event.type === 'UsageRecorded')
      this.#onViolation(`request ${event.data.requestId} was billed twice`)
    if (request.closing?.source === event.source && request.closing.id !== event.id)
      this.#onViolation(`request ${event.data.requestId} was ended twice by one process`)
    request.closing ??= event
  }

  #checkWallet(workspaceId: string): void {
    const wallet = this.ledger.wallets.get(workspaceId)
    if (wallet === undefined) return
    const held = [...wallet.holds.values()].reduce((sum, { remainingPicos }) => sum + remainingPicos, 0n)
    const shadow = this.shadow.of(workspaceId)
    const shadowHeld = this.shadow.heldPicos(workspaceId)
    if (shadow.balancePicos !== balancePicos(wallet) || shadowHeld !== held)
      this.#onViolation(
        `${workspaceId} has ${balancePicos(wallet)} and ${held} held, by its events ${shadow.balancePicos} and ${shadowHeld}`,
      )
    for (const keyId of new Set([...shadow.spentPicos.keys(), ...wallet.spendings.keys()])) {
      const [spent, byEvents] = [wallet.spendings.get(keyId)?.spent.totalPicos, shadow.spentPicos.get(keyId)]
      if ((spent ?? 0n) !== (byEvents ?? 0n))
        this.#onViolation(`key ${keyId} has spent ${spent}, by its events ${byEvents}`)
    }
    if (held !== wallet.heldPicos) this.#onViolation(`${workspaceId} holds ${wallet.heldPicos}, its holds ${held}`)
    if ([...wallet.holds.values()].some(({ remainingPicos }) => remainingPicos < 0n))
      this.#onViolation(`a hold of ${workspaceId} is below zero`)
  }

  /** All of the charge is given back. */
  #noteUndelivered({ data: { corrects = '', amount } }: EventOf<'AdjustmentPosted'>): void {
    const charged = this.#chargedOf(corrects)
    charged.undelivered = true
    const end = 'closing' in charged ? charged.closing : charged.end
    const total = end !== null && end !== undefined && 'total' in end.data ? end.data.total : '0'
    if (parseUsd(amount) !== parseUsd(total))
      this.#onViolation(`${corrects} was not delivered, and ${amount} of its charge of ${total} is given back`)
  }

  #chargedOf(id: string): ObservedRequest | ObservedTask {
    return this.tasks.get(id) ?? this.#requestOf(id)
  }

  #requestOf(requestId: string): ObservedRequest {
    const known = this.requests.get(requestId)
    if (known !== undefined) return known
    const request: ObservedRequest = { routed: null, closing: null, undelivered: false }
    this.requests.set(requestId, request)
    return request
  }
}
