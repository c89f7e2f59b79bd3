import { formatUsd } from '../../domain/money.ts'
import { chargeFor, chargeReservation, type ServedWith, unpricedOf } from '../../domain/pricing/charge.ts'
import { isPlausibleUsage } from '../../domain/pricing/worst-case.ts'
import type { Candidate } from '../../domain/routing/plan.ts'
import type { Usage, UsageSource } from '../../domain/usage/usage.ts'
import { failureReason, GatewayError, logUnavailable } from '../../errors/gateway-error.ts'
import type { FactOf } from '../../events/envelope.ts'
import type { Attempt, PriceSheet, UsageRecorded } from '../../events/types.ts'
import { errorStatusOf } from '../../http/error-table.ts'
import type { LogOf } from '../../log/event-log.ts'
import { readEmbeddingInput } from '../../providers/canonical/embeddings.ts'
import type { Delivered } from '../../providers/dialect/dialect.ts'
import { countOf } from '../../providers/dialect/reported-usage.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Observer } from '../../runtime/observer.ts'
import type { CallSpans } from '../../runtime/tracing.ts'
import { withTimeout } from '../../runtime/within.ts'
import { takeTurn } from '../../runtime/work-turns.ts'
import type { AnswerRequest } from '../dispatch.ts'
import type { AbortedUsageEstimator } from './aborted-usage-estimator.ts'
import type { CalledUpstream, OpenStream, ServedRequest, WholeAnswer } from './attempt.ts'
import type { CallsInFlight } from './calls-in-flight.ts'
import { settleUsage } from './settle-usage.ts'
import { useBody } from './use-body.ts'

interface ServedBill {
  readonly candidate: Candidate
  readonly estimate?: UsageRecorded['estimate']
  readonly usage: Usage
  readonly source: UsageSource
  readonly outcome: UsageRecorded['outcome']
  readonly attempts: readonly Attempt[]
  /** The id under which the provider stores the response; null where it stores none. */
  readonly storedId: string | null
  readonly firstTokenMs?: number | undefined
}

const callFields = ({ requestId, workspaceId, keyId, surface, allowanceId }: AnswerRequest) => ({
  requestId,
  workspaceId,
  keyId,
  surface,
  allowanceId,
})

const unpricedMembers = (sheet: PriceSheet, usage: Usage): NonNullable<UsageRecorded['unpriced']> => {
  const { serviceTier, inferenceGeo } = unpricedOf(sheet, usage)
  return [
    ...(serviceTier === undefined ? [] : ['service_tier' as const]),
    ...(inferenceGeo === undefined ? [] : ['inference_geo' as const]),
  ]
}

const askedOf = ({ surface, body }: AnswerRequest): { readonly prompts: number; readonly choices: number } =>
  surface === 'embeddings'
    ? { prompts: readEmbeddingInput(body).count, choices: 0 }
    : { prompts: 1, choices: countOf(body['n']) ?? 1 }

const usageFact = (call: AnswerRequest, bill: ServedBill): FactOf<'UsageRecorded'> => {
  const { candidate, usage, source, outcome, attempts, storedId, estimate, firstTokenMs } = bill
  const isPlausible = isPlausibleUsage(candidate.sheet, usage, askedOf(call))
  const charge = isPlausible ? chargeFor(candidate.sheet, usage) : chargeReservation(call.reserved)
  const unpriced = unpricedMembers(candidate.sheet, usage)
  return {
    type: 'UsageRecorded',
    data: {
      ...callFields(call),
      model: candidate.model,
      provider: candidate.provider,
      level: candidate.level,
      priceVersion: candidate.priceVersion,
      usage,
      source,
      lines: [...charge.lines],
      total: formatUsd(charge.totalPicos),
      reserved: call.reserved,
      attempts: [...attempts],
      outcome,
      ...(unpriced.length === 0 ? {} : { unpriced }),
      ...(isPlausible ? {} : { plausible: false }),
      ...(storedId === null ? {} : { storedResponseId: storedId }),
      ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
      ...(estimate === undefined ? {} : { estimate }),
    },
  }
}

export const failureFact = (
  call: AnswerRequest,
  error: Pick<GatewayError, 'status' | 'code'>,
  attempts: readonly Attempt[],
): FactOf<'RequestFailed'> => ({
  type: 'RequestFailed',
  data: {
    ...callFields(call),
    status: errorStatusOf(error),
    reason: failureReason(error),
    attempts: [...attempts],
  },
})

/** No request has an empty prompt. */
const contradicts = ({ surface }: AnswerRequest, usage: Usage, delivered: Delivered): boolean =>
  usage.negative === undefined &&
  ((usage.outputTotal === 0 && delivered.characters > 0) || (usage.promptTotal === 0 && surface !== 'embeddings'))

const reportedBy = (answered: WholeAnswer | OpenStream): Usage | null =>
  answered.type === 'whole' ? answered.answer.reportedUsage : answered.relay.reportedUsage

interface AbortedUsageEstimate {
  readonly estimator: AbortedUsageEstimator
  readonly visibleMs: number
}

interface End {
  readonly outcome: UsageRecorded['outcome']
  readonly attempts: readonly Attempt[]
  readonly aborted: AbortedUsageEstimate
  /** From the dispatch; undefined without a stream. */
  readonly firstTokenMs?: number | undefined
}

/** The upstream of a client that left was cancelled: its last figures, if any, do not cover what it bills. */
const settleAborted = (
  call: AnswerRequest,
  called: CalledUpstream,
  counted: Usage,
  { estimator, visibleMs }: AbortedUsageEstimate,
  servedWith?: ServedWith,
): Pick<ServedBill, 'usage' | 'source' | 'estimate'> => {
  const { usage } = settleUsage(called.reportedUsage, counted, servedWith)
  return { ...estimator.estimate(call, called, usage, visibleMs), source: 'estimated' }
}

/** Hundreds of streams may be left at once. */
const countInTurn = async (
  { dialect, target }: Pick<CalledUpstream, 'dialect' | 'target'>,
  call: AnswerRequest,
  delivered: Delivered,
): Promise<Usage> => {
  await takeTurn(call.workspaceId, (call.bodyBytes ?? 0) + delivered.characters)
  return useBody(call, (read) => dialect.countUsage(target, read, delivered))
}

/** A promise where the body is large, or the upstream did not report all usage, so that it is counted. */
export const billServed = (
  call: AnswerRequest,
  { candidate, calledAtMs, answered }: ServedRequest,
  { outcome, attempts, aborted, firstTokenMs }: End,
): FactOf<'UsageRecorded'> | Promise<FactOf<'UsageRecorded'>> => {
  const { dialect, target, hiding } = answered
  const { delivered, servedWith, storedId = null } = answered.type === 'whole' ? answered.answer : answered.relay
  const reported = reportedBy(answered)
  const bill = { candidate, outcome, attempts, storedId, firstTokenMs }
  const isFinal = answered.type === 'whole' || answered.relay.isFinished
  if (reported !== null && isFinal && !contradicts(call, reported, delivered))
    return useBody(call, (read) => usageFact(read, { ...bill, usage: reported, source: 'reported' }))
  const settle = (counted: Usage): Pick<ServedBill, 'usage' | 'source' | 'estimate'> =>
    outcome === 'client_gone' && !isFinal
      ? settleAborted(
          call,
          { candidate, calledAtMs, dialect, target, hiding, reportedUsage: reported },
          counted,
          aborted,
          servedWith,
        )
      : settleUsage(reported, counted, servedWith)
  return countInTurn({ dialect, target }, call, delivered).then((counted) =>
    useBody(call, (read) => usageFact(read, { ...bill, ...settle(counted) })),
  )
}

const nothingDelivered: Delivered = { texts: [], reasoningTexts: [], charactersBeyond: 0, characters: 0 }

export const billUnanswered = async (
  call: AnswerRequest,
  called: CalledUpstream,
  attempts: readonly Attempt[],
  aborted: AbortedUsageEstimate,
): Promise<FactOf<'UsageRecorded'>> => {
  const { candidate } = called
  const counted = await countInTurn(called, call, nothingDelivered)
  const settled = settleAborted(call, called, counted, aborted)
  const bill = { candidate, outcome: 'client_gone', attempts, storedId: null, ...settled } as const
  return useBody(call, (read) => usageFact(read, bill))
}

type ProxyEvent = 'UsageRecorded' | 'RequestFailed'

export interface ClosingParts {
  readonly log: LogOf<ProxyEvent>
  readonly logger: Logger
  readonly observer: Observer
  readonly inFlight: CallsInFlight
  readonly closingAckMs: number
}

type ClosingFact = FactOf<'UsageRecorded'> | FactOf<'RequestFailed'>

/** Keeps the charge where the vendor's details beside it are invalid. */
const dropOptionalFields = (fact: ClosingFact): ClosingFact => {
  if (fact.type === 'RequestFailed') return { type: fact.type, data: { ...fact.data, attempts: [] } }
  const { storedResponseId: _storedResponseId, ...data } = fact.data
  return { type: fact.type, data: { ...data, attempts: [] } }
}

export class ClosingAppender {
  readonly #parts: ClosingParts
  readonly #spans: CallSpans | null
  #appended: Promise<ClosingFact> | null = null
  #stored: Promise<ClosingFact> | null = null
  #generationMs: number | null = null

  constructor(parts: ClosingParts, spans: CallSpans | null) {
    this.#parts = parts
    this.#spans = spans
  }

  get begun(): boolean {
    return this.#appended !== null
  }

  /** The first fact counts; later ones are ignored. A fact may still be a promise, such as a count under way. */
  append(fact: ClosingFact | Promise<ClosingFact>, generationMs: number | null = null): void {
    if (this.begun) return
    this.#generationMs = generationMs
    this.#appended = Promise.resolve(fact)
    const endedMs = performance.now()
    this.#stored =
      fact instanceof Promise ? fact.then((counted) => this.#append(counted, endedMs)) : this.#append(fact, endedMs)
    this.#parts.inFlight.track(this.#stored, (fault) => this.#parts.logger.log('request.end_not_recorded', { fault }))
  }

  /** Resolves with the stored fact; throws `log_unavailable` when the log has not acknowledged it in time. */
  async acknowledged(): Promise<ClosingFact> {
    if (this.#stored === null) throw new Error('a closing event is acknowledged before it was appended')
    await this.#appended
    return withTimeout(this.#stored, this.#parts.closingAckMs, () => logUnavailable())
  }

  /** Resolves, once the bill is stored, with the usage that we counted; null where the upstream reported it. */
  async countedUsage(): Promise<Usage | null> {
    const fact = await this.acknowledged()
    return fact.type === 'UsageRecorded' && fact.data.source === 'estimated' ? fact.data.usage : null
  }

  async #append(closing: ClosingFact, endedMs: number): Promise<ClosingFact> {
    const appendedMs = performance.now()
    this.#spans?.settled(closing.data, endedMs)
    try {
      await this.#parts.log.append([closing])
      this.#parts.observer.stageEnded('closing_ack', closing.data.surface, (performance.now() - appendedMs) / 1_000)
      this.#observe(closing)
      this.#spans?.recorded(appendedMs, closing.data)
      return closing
    } catch (fault) {
      if (fault instanceof GatewayError) {
        this.#spans?.recorded(appendedMs, closing.data, fault)
        throw fault
      }
      this.#parts.logger.log('request.end_invalid', { fault })
      return this.#appendMinimal(dropOptionalFields(closing))
    }
  }

  async #appendMinimal(bare: ClosingFact): Promise<ClosingFact> {
    try {
      await this.#parts.log.append([bare])
      this.#observe(bare)
      return bare
    } catch (fault) {
      throw fault instanceof GatewayError ? fault : logUnavailable(fault)
    }
  }

  #observe({ type, data }: ClosingFact): void {
    const status = type === 'UsageRecorded' ? data.outcome : data.status < 500 ? '4xx' : '5xx'
    const traceId = this.#spans?.traceId ?? null
    this.#parts.observer.requestClosed({ ...data, status, generationMs: this.#generationMs, traceId })
  }
}
