import type { Key } from '../../../../domain/accounts/accounts.ts'
import { modelPermissionOf } from '../../../../domain/accounts/limits.ts'
import { instantWriter } from '../../../../domain/instant.ts'
import { formatUsd, maxOf } from '../../../../domain/money.ts'
import { affordableOutputTokens, type UsageBounds, worstCasesPicos } from '../../../../domain/pricing/worst-case.ts'
import {
  type Candidate,
  type Catalog,
  planRequest,
  type Random,
  type RoutePlan,
  type RoutingRequest,
  type Surface,
} from '../../../../domain/routing/plan.ts'
import { failureReason, GatewayError, logUnavailable } from '../../../../errors/gateway-error.ts'
import type { FactOf } from '../../../../events/envelope.ts'
import type { HttpState, RequestTrace } from '../../../../http/context.ts'
import { errorStatusOf } from '../../../../http/error-table.ts'
import type { LogOf } from '../../../../log/event-log.ts'
import type { LedgerTail } from '../../../../log/ledger-tail.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import type { Collectable } from '../../../../runtime/collectable.ts'
import { type Check, checkOf } from '../../../../runtime/health.ts'
import { runWhereLarge } from '../../../../runtime/large-steps.ts'
import { sharedLimits } from '../../../../runtime/limits.ts'
import type { Logger } from '../../../../runtime/logger.ts'
import { withTimeout } from '../../../../runtime/within.ts'
import { takeTurn } from '../../../../runtime/work-turns.ts'
import {
  type AnswerPart,
  type AnswerRequest,
  AnswerUnread,
  asksForAnswer,
  type Dispatch,
  DispatchLost,
  type JsonRecord,
  type Question,
  type RoutedRequest,
  withBody,
} from '../../../dispatch.ts'
import type { manifests } from '../../../manifests.ts'
import type { Allowances } from '../../admission/allowances.ts'
import { admissionLimits } from '../../admission/limits.ts'
import type { AbortedStreams } from '../../admission/open-requests.ts'
import type { Rates } from '../../admission/rates/rates.ts'
import type { Admission, Reservation } from '../../admission/spender.ts'
import { surfaceLimits } from '../limits.ts'
import { Deliveries } from './deliveries.ts'

export type EdgeEvent = (typeof manifests.edge)[number]

type FollowedClient = ReturnType<AbortedStreams['follow']>

/** A whole answer is always read to its end. */
const unfollowed = (gone: AbortSignal): FollowedClient => ({ gone, settle: () => undefined, end: () => undefined })

interface InferenceParts {
  readonly log: LogOf<EdgeEvent>
  readonly tail: LedgerTail
  readonly allowances: Allowances
  readonly rates: Pick<Rates, 'cancel'>
  readonly dispatch: Dispatch
  readonly abortedStreams: AbortedStreams
  readonly catalog: () => Catalog
  readonly random: Random
  readonly requestDeadlineMs: number
  readonly clock: Clock
  readonly logger: Logger
}

export interface InferenceRequest {
  readonly requestId: string
  readonly key: Key
  readonly surface: Surface
  /** In the surface's own format, routing extensions removed. */
  readonly body: Collectable<JsonRecord>
  readonly model: string
  readonly stream: boolean
  /** Of the body as it came. */
  readonly bodyBytes: number
  readonly demand: UsageBounds
  readonly attribution?: HttpState['attribution']
  /** Those of the caller's that may be forwarded, by lower-case name. */
  readonly headers?: RoutedRequest['headers'] | undefined
  /** Gives the answer another form before it is captured. */
  readonly reshape?: ((parts: AsyncIterable<AnswerPart>) => AsyncIterable<AnswerPart>) | undefined
  /** What it throws counts as a fault of the answer. */
  readonly capture?: ((parts: AsyncIterable<AnswerPart>) => AsyncIterable<AnswerPart>) | undefined
  readonly trace: Pick<RequestTrace, 'admittedMs' | 'routedMs' | 'span'>
}

/** A validated question of any surface: free, and not recorded in the log. */
export interface InferenceQuestion {
  readonly requestId: string
  readonly key: Key
  readonly surface: RoutedRequest['surface']
  readonly body: JsonRecord
  readonly bodyBytes?: number
  readonly question: Question
  readonly candidate: Candidate
  readonly headers?: RoutedRequest['headers'] | undefined
  readonly trace?: Pick<RequestTrace, 'span'>
}

export interface InferenceAnswer {
  readonly head: Extract<AnswerPart, { type: 'head' }>
  /** Output tokens the wallet could pay for, where the wallet was the limit. */
  readonly outputCap: number | null
  /** Throws GatewayError when the answer breaks off. */
  readonly bytes: AsyncIterable<Uint8Array>
}

const asTheyCome = <Parts>(parts: Parts): Parts => parts

const admitWithin = async (allowances: Allowances, admission: Admission): Promise<Reservation> => {
  const admitted = allowances.admit(admission)
  if (!(admitted instanceof Promise)) return admitted
  try {
    return await withTimeout(admitted, admissionLimits.admissionWaitMs + sharedLimits.routedAckMs, () =>
      logUnavailable(),
    )
  } catch (fault) {
    admitted.then(
      () => allowances.cancel(admission.requestId),
      () => undefined,
    )
    throw fault
  }
}

type PricedRequest = Pick<InferenceRequest, 'key' | 'attribution' | 'demand'>

const costOf = (
  { candidates }: RoutePlan,
  { key: { workspaceId, keyId }, attribution: labels, demand }: PricedRequest,
): Omit<Admission, 'requestId'> => {
  let [wantedPicos, floorPicos] = [0n, 0n]
  for (const { sheet } of candidates) {
    const [wanted, floor] = worstCasesPicos(sheet, demand, [null, surfaceLimits.outputTokensFloor])
    wantedPicos = maxOf(wantedPicos, wanted!)
    floorPicos = maxOf(floorPicos, floor!)
  }
  return { workspaceId, keyId, labels, wantedPicos, floorPicos }
}

export class Inference {
  readonly #parts: InferenceParts
  /** An acknowledged frame of ours that has not come back through the tail yet. */
  #awaited: { readonly sequence: number; readonly sinceMs: number } | null = null

  readonly deliveries: Deliveries

  constructor(parts: InferenceParts) {
    this.#parts = parts
    this.deliveries = new Deliveries(parts)
  }

  /** Call it when every request has ended, or never will. */
  close(): Promise<void> {
    return this.deliveries.close()
  }

  /** Throws `log_unavailable` while requests cannot be recorded. */
  requireLog(): void {
    if (!this.check.ok) throw logUnavailable()
  }

  /** Whether the log is followed and acknowledges, and our own frames come back through the tail. */
  get check(): Check {
    const { log, tail } = this.#parts
    const behindMs = tail.behindSinceMs === null ? 0 : performance.now() - tail.behindSinceMs
    if (behindMs > sharedLimits.logStalledMs) return checkOf(false, 'the log is not followed')
    if (this.#awaited !== null && tail.ledger.sequence >= this.#awaited.sequence) this.#awaited = null
    const tailStalled = this.#awaited !== null && performance.now() - this.#awaited.sinceMs > sharedLimits.logStalledMs
    if (tailStalled) return checkOf(false, 'frames that were acknowledged do not come back')
    return checkOf(log.oldestUnacknowledgedMs() <= sharedLimits.logStalledMs, 'the log does not acknowledge')
  }

  plan(routing: RoutingRequest, key: Key): RoutePlan {
    const { catalog, tail, clock, random } = this.#parts
    const { prices, accounts } = tail.ledger
    return planRequest(catalog(), prices, routing, clock(), random, modelPermissionOf(accounts, key))
  }

  /** Whether every candidate is known to observe the same limits as OpenAI. */
  isOpenAIOnly({ candidates }: RoutePlan): boolean {
    const { providers } = this.#parts.catalog()
    return candidates.every(({ provider }) => providers.get(provider)?.profile === 'openai')
  }

  findShortage(plan: RoutePlan, request: PricedRequest): GatewayError | null {
    return this.#parts.allowances.funds.findShortage(costOf(plan, request))
  }

  /** Resolves with the head of the answer; throws GatewayError where there is no byte to send. */
  async run(request: InferenceRequest, plan: RoutePlan, clientGone: AbortSignal): Promise<InferenceAnswer> {
    const { reservation, outputCap } = await this.#reserve(request, plan).catch((fault: unknown) => {
      this.#parts.rates.cancel(request.requestId)
      throw fault
    })
    request.trace.admittedMs = performance.now()
    const call = this.#callOf(request, plan, reservation, outputCap)
    await this.#record(request, plan, call)
    request.trace.routedMs = performance.now()
    return { ...(await this.#dispatch(call, clientGone, request)), outputCap }
  }

  /** Resolves with the head of the provider's response; throws GatewayError where there is none. */
  async query(query: InferenceQuestion, clientGone: AbortSignal): Promise<InferenceAnswer> {
    const deadlineMs = this.#parts.clock() + this.#parts.requestDeadlineMs
    const { bodyBytes = 0 } = query
    return { ...(await this.#dispatch(questionCall(query, deadlineMs), clientGone, { bodyBytes })), outputCap: null }
  }

  async #dispatch(
    call: RoutedRequest,
    clientGone: AbortSignal,
    {
      bodyBytes: bytes,
      reshape = asTheyCome,
      capture = asTheyCome,
    }: Pick<InferenceRequest, 'bodyBytes' | 'reshape' | 'capture'>,
  ): Promise<Omit<InferenceAnswer, 'outputCap'>> {
    if (call.question === undefined) this.deliveries.open(call.requestId)
    const client = call.stream
      ? this.#parts.abortedStreams.follow(call.workspaceId, clientGone)
      : unfollowed(clientGone)
    try {
      const turn = takeTurn(call.workspaceId, bytes)
      if (turn !== undefined) await turn
      const dispatched = this.#parts.dispatch(call, client.gone)
      const parts = capture(reshape(dispatched))[Symbol.asyncIterator]()
      const { workspaceId } = call
      const first = await runWhereLarge({ workspaceId, bytes }, () => parts.next()) // Writes the body for its upstream.
      if (first.done === true || first.value.type !== 'head') throw new Error('an answer starts with its head')
      return { head: first.value, bytes: this.#bytesOf(call, parts, client) }
    } catch (fault) {
      client.end()
      this.#endWith(call, fault, !clientGone.aborted)
      throw fault
    }
  }

  async *#bytesOf(
    call: RoutedRequest,
    parts: AsyncIterator<AnswerPart>,
    client: FollowedClient,
  ): AsyncGenerator<Uint8Array> {
    let [released, releasedMs, readerMs] = [false, 0, 0]
    try {
      try {
        for (let part = await parts.next(); part.done !== true; part = await parts.next()) {
          if (part.value.type !== 'bytes') continue
          const givenMs = performance.now()
          if (!released) releasedMs = givenMs
          released = true
          yield part.value.bytes
          readerMs += performance.now() - givenMs
        }
      } finally {
        client.settle()
        await parts.return?.()
      }
    } catch (fault) {
      // Part of a stream counts as an answer; part of a body only where its reader, and not the way to it, was slow.
      const isReaderLate = fault instanceof AnswerUnread && readerMs > (performance.now() - releasedMs) / 2
      this.#endWith(call, fault, !client.gone.aborted && !(released && (call.stream || isReaderLate)))
      throw fault
    } finally {
      client.end()
      this.deliveries.end(call.requestId)
    }
  }

  #endWith(call: RoutedRequest, fault: unknown, isUndelivered: boolean): void {
    this.#closeUndispatched(call, fault)
    if (isUndelivered) this.deliveries.markUndelivered(call.requestId)
    this.deliveries.end(call.requestId)
  }

  /** Ends the reservation at once. Should there be two ends, the ledger honours the first. A question has none. */
  #closeUndispatched(call: RoutedRequest, fault: unknown): void {
    if (!(fault instanceof DispatchLost) || !asksForAnswer(call)) return
    const { log, logger } = this.#parts
    log.append([unservedFact(call, fault)]).catch((later: unknown) => {
      logger.log('request.lost_not_closed', { fault: later, requestId: call.requestId })
    })
  }

  async #reserve(
    request: InferenceRequest,
    plan: RoutePlan,
  ): Promise<{ reservation: Reservation; outputCap: number | null }> {
    const { requestId, demand } = request
    const cost = costOf(plan, request)
    const reservation = await admitWithin(this.#parts.allowances, { requestId, ...cost })
    if (reservation.reservedPicos >= cost.wantedPicos) return { reservation, outputCap: null }
    return { reservation, outputCap: affordableCap(plan, demand, reservation.reservedPicos) }
  }

  #callOf(
    request: InferenceRequest,
    plan: RoutePlan,
    reservation: Reservation,
    outputCap: number | null,
  ): AnswerRequest {
    const { requestId, key, surface, body, bodyBytes, stream, headers, capture, trace } = request
    const call = {
      requestId,
      workspaceId: key.workspaceId,
      keyId: key.keyId,
      surface,
      bodyBytes,
      stream,
      ...(headers === undefined ? {} : { headers }),
      ...(stream && capture !== undefined ? { capturedBytesMax: admissionLimits.outcomeBytesMax } : {}),
      candidates: plan.candidates,
      chain: plan.chain || plan.router !== null,
      allowanceId: reservation.allowanceId,
      reserved: formatUsd(reservation.reservedPicos),
      outputCap,
      deadlineMs: this.#parts.clock() + this.#parts.requestDeadlineMs,
      ...(trace.span === undefined ? {} : { trace: trace.span.context }),
    }
    return withBody(call, body)
  }

  /** Runs before dispatch: no upstream may cost money for a request that is not in the log. */
  async #record(request: InferenceRequest, plan: RoutePlan, call: AnswerRequest): Promise<void> {
    const { log, allowances, rates } = this.#parts
    const appended = log.append([routedFact(request, plan, call)])
    try {
      const { sequence } = await withTimeout(appended, sharedLimits.routedAckMs, logUnavailable)
      this.#awaitReturn(sequence)
    } catch (fault) {
      appended
        .then(
          () => log.append([unservedFact(call, logUnavailable())]),
          () => {
            allowances.cancel(call.requestId)
            rates.cancel(call.requestId)
          },
        )
        .catch((later: unknown) =>
          this.#parts.logger.log('request.undispatched_not_closed', { fault: later, requestId: call.requestId }),
        )
      throw fault instanceof GatewayError ? fault : logUnavailable(fault)
    }
  }

  #awaitReturn(sequence: number): void {
    if (this.#awaited === null && this.#parts.tail.ledger.sequence < sequence)
      this.#awaited = { sequence, sinceMs: performance.now() }
  }
}

/** For a question: it costs nothing, and names no model. */
export const candidateAt = (provider: string): Candidate => ({
  model: provider,
  provider,
  upstreamModel: provider,
  priceVersion: '',
  sheet: { currency: 'USD', per_million_tokens: { input: '0', output: '0' }, max_output_tokens: 1 },
  level: 0,
})

const questionCall = (query: InferenceQuestion, deadlineMs: number): RoutedRequest => {
  const { requestId, key, surface, body, bodyBytes, question, candidate, headers, trace } = query
  return {
    requestId,
    workspaceId: key.workspaceId,
    keyId: key.keyId,
    surface,
    body,
    ...(bodyBytes === undefined ? {} : { bodyBytes }),
    stream: false,
    ...(headers === undefined ? {} : { headers }),
    question,
    candidates: [candidate],
    chain: false,
    allowanceId: null,
    reserved: '0',
    outputCap: null,
    deadlineMs,
    ...(trace?.span === undefined ? {} : { trace: trace.span.context }),
  }
}

const affordableCap = (plan: RoutePlan, demand: UsageBounds, budgetPicos: bigint): number =>
  Math.min(...plan.candidates.map(({ sheet }) => affordableOutputTokens(sheet, demand, budgetPicos)))

const deadlineAt = instantWriter()

const routedFact = (request: InferenceRequest, plan: RoutePlan, call: AnswerRequest): FactOf<'RequestRouted'> => ({
  type: 'RequestRouted',
  data: {
    requestId: call.requestId,
    workspaceId: call.workspaceId,
    keyId: call.keyId,
    surface: call.surface,
    model: request.model,
    router: plan.router,
    stream: call.stream,
    candidates: plan.candidates.map(({ model, provider, upstreamModel, priceVersion }) => ({
      model,
      provider,
      upstreamModel,
      priceVersion,
    })),
    allowanceId: call.allowanceId,
    reserved: call.reserved,
    outputCap: call.outputCap,
    deadline: deadlineAt(call.deadlineMs),
    ...request.attribution,
  },
})

/** `error`: as it was sent to the client. */
const unservedFact = (
  { requestId, workspaceId, keyId, surface, allowanceId }: AnswerRequest,
  error: Pick<GatewayError, 'status' | 'code'>,
): FactOf<'RequestFailed'> => ({
  type: 'RequestFailed',
  data: {
    requestId,
    workspaceId,
    keyId,
    surface,
    status: errorStatusOf(error),
    reason: failureReason(error),
    allowanceId,
    attempts: [],
  },
})
