import type { Candidate } from '../../domain/routing/plan.ts'
import { isObject, type JsonObject, parseJsonBytes } from '../../encoding/json.ts'
import { finishSteps } from '../../encoding/steps.ts'
import { clientGoneError, GatewayError } from '../../errors/gateway-error.ts'
import { authenticated } from '../../providers/authentication/authenticated.ts'
import { estimatePrompt } from '../../providers/canonical/estimate.ts'
import type { Target } from '../../providers/dialect/dialect.ts'
import type { Providers } from '../../providers/dialect/provider.ts'
import { makerOf } from '../../providers/dialect/provider-mark.ts'
import { dialectFor, storedRequestFor } from '../../providers/dialects.ts'
import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse, readBody } from '../../providers/http.ts'
import { readOpenAIError } from '../../providers/openai/refusal.ts'
import type { StoredResponseQuestion } from '../../providers/openai-responses/stored.ts'
import type { VendorStatus, VideoVendor } from '../../providers/vv-video/vendor.ts'
import type { Clock } from '../../runtime/clock.ts'
import { FairRate } from '../../runtime/fair-rate.ts'
import { runWhereLarge } from '../../runtime/large-steps.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Observer } from '../../runtime/observer.ts'
import type { CallSpans } from '../../runtime/tracing.ts'
import type { AnswerPart, Question, RoutedRequest } from '../dispatch.ts'
import { encodeResults } from '../task-results.ts'
import { isSuccess, readFailure, targetOf } from './attempt.ts'
import type { CallsInFlight } from './calls-in-flight.ts'
import { type CalledDeployment, DeploymentTurns } from './deployment-turns.ts'
import type { Deployments } from './deployments.ts'
import {
  type CandidateFailure,
  finalFailure,
  httpFailure,
  logFailedAttempt,
  type RunStopReason,
  refusalFailure,
  refused,
  statusFailure,
  upstreamErrorOf,
} from './failure.ts'
import { proxyLimits } from './limits.ts'
import { RunSignals } from './run-signals.ts'
import { tokenCounterFor } from './token-counters.ts'
import { encodeBody, useBody } from './use-body.ts'

/** Limits a proxy's queries about tasks that have ended, by vendor account: its pollers need the rest of its rate. */
export class QueryPace {
  readonly #steadyClock: Clock
  readonly #sharers: number
  readonly #rates = new Map<string, FairRate>()

  constructor(steadyClock: Clock, sharers = 1) {
    this.#steadyClock = steadyClock
    this.#sharers = sharers
  }

  /** False where the workspace's share of the allowance is used up for the moment. */
  next(vendor: string, workspaceId: string): boolean {
    const rate = this.#rateOf(vendor)
    const isFree = rate.isFree(workspaceId)
    if (isFree) rate.add(workspaceId, 1)
    else rate.noteRefused(workspaceId)
    return isFree
  }

  #rateOf(vendor: string): FairRate {
    const existing = this.#rates.get(vendor)
    if (existing !== undefined) return existing
    const { vendorQuestionsMax, vendorQuestionsMs, limitShareWaitMs } = proxyLimits
    const unitsMax = Math.ceil(vendorQuestionsMax / this.#sharers)
    const windowMs = (unitsMax * this.#sharers * vendorQuestionsMs) / vendorQuestionsMax
    const rate = new FairRate({ unitsMax, windowMs, waitMs: limitShareWaitMs, steadyMs: this.#steadyClock })
    this.#rates.set(vendor, rate)
    return rate
  }
}

export type Vendors = ReadonlyMap<string, Pick<VideoVendor, 'query'>>

export interface QuestionParts {
  readonly providers: Providers
  readonly vendors: Vendors
  readonly vendorTurns: QueryPace
  readonly deployments: Deployments
  readonly http: HttpClient
  readonly clock: Clock
  readonly logger: Logger
  readonly observer: Observer
  readonly inFlight: CallsInFlight
  readonly questionMs: number
}

type Replied = { readonly bytes: Uint8Array } | { readonly failure: CandidateFailure }

const failed = (failure: CandidateFailure): Replied => ({ failure })
const unusable = ({ status }: HttpResponse, reason: string): Replied => failed({ status, reason })

const replyWith = (json: JsonObject): Replied => ({ bytes: Buffer.from(JSON.stringify(json)) })

/** The statuses of an upstream that does not have the address. */
const absentStatuses: readonly number[] = [404, 405, 501]

const notConfigured = failed({ status: null, reason: 'provider_not_configured' })

const noTask = (): GatewayError =>
  new GatewayError('task_not_exist', 'The video vendor does not know the task (any more).')
const noTurn = (): GatewayError =>
  new GatewayError('rate_limit_exceeded', 'The video vendor is asked too often.', { retryAfterSeconds: 1 })

const replyWithResults = (status: VendorStatus): Replied => {
  switch (status.type) {
    case 'ended':
      if (status.verdict.results.length > 0) return { bytes: encodeResults(status.verdict.results) }
      return failed({ status: null, reason: 'no_results' })
    case 'open':
      return failed({ status: null, reason: 'task_is_open' })
    case 'not_found':
      return failed(refused(noTask()))
    case 'busy':
    case 'unknown':
      return failed({ status: null, reason: status.reason, timedOut: status.reason === 'timeout' })
  }
}

const noResponse = { message: 'There is no response with this id.', code: null, param: null }

class QuestionRun {
  readonly #parts: QuestionParts
  readonly #call: RoutedRequest
  readonly #cancel = new AbortController()
  readonly #signals: RunSignals
  readonly #spans: CallSpans | null
  #stopped: RunStopReason | null = null
  #upstreamCalled = false
  #status: number | null = null

  constructor(parts: QuestionParts, call: RoutedRequest, clientGone: AbortSignal) {
    this.#parts = parts
    this.#call = call
    this.#spans = parts.observer.tracing?.call(call) ?? null
    const deadlineMs = Math.min(call.deadlineMs, parts.clock() + parts.questionMs)
    this.#signals = new RunSignals(parts, deadlineMs, clientGone, undefined, ({ type }) =>
      this.#stop(type === 'deadline' || type === 'shutdown' ? type : 'client_gone'),
    )
    this.#signals.attach()
  }

  end(): void {
    this.#cancel.abort()
    this.#signals.detach()
  }

  async answer(question: Question, candidate: Candidate): Promise<Uint8Array> {
    const replied = await this.#put(question, candidate)
    this.#observe(candidate, replied)
    if (this.#signals.clientIsGone) throw clientGoneError()
    if ('bytes' in replied) return replied.bytes
    const { failure } = replied
    logFailedAttempt(this.#parts.logger, this.#call.requestId, candidate, failure)
    const alone = { ...this.#call, candidates: [candidate], chain: false }
    throw finalFailure(alone, { unserved: [{ candidate, failure }], stopped: this.#stopped })
  }

  #stop(why: RunStopReason): void {
    this.#stopped ??= why
    this.#cancel.abort()
  }

  /** Neither a count of our own nor a refusal of ours reaches an upstream. */
  #observe({ provider }: Candidate, replied: Replied): void {
    if (!this.#upstreamCalled) return
    const { observer } = this.#parts
    observer.upstreamCalled(provider, 'question')
    const end = 'failure' in replied ? replied.failure : { status: this.#status, reason: null }
    this.#spans?.settled({ attempts: [end] }, performance.now())
    if ('failure' in replied) observer.upstreamFailed(provider, 'question', upstreamErrorOf(replied.failure))
  }

  async #put(question: Question, candidate: Candidate): Promise<Replied> {
    if (question.type === 'get_video_task') return this.#queryVendor(candidate.provider, question)
    const { providers, deployments } = this.#parts
    const provider = providers.get(candidate.provider)
    if (provider === undefined) return notConfigured
    const turns = new DeploymentTurns(deployments, provider, candidate, this.#call)
    const called = turns.next()
    if (called === null || 'reason' in called) return called === null ? notConfigured : failed(called)
    const replied = await this.#putTo(called, question)
    turns.ended(called, 'failure' in replied ? replied.failure : null)
    return replied
  }

  async #putTo(
    { provider, candidate }: CalledDeployment,
    question: Exclude<Question, { type: 'get_video_task' }>,
  ): Promise<Replied> {
    const target = targetOf(provider, candidate, this.#parts.clock)
    try {
      return question.type === 'count_tokens'
        ? await this.#countTokens(target)
        : await this.#fetchStored(target, question, question.type === 'get_response' ? 'GET' : 'DELETE')
    } catch (fault) {
      if (fault instanceof HttpFault) return failed(httpFailure(fault))
      if (fault instanceof GatewayError) return failed(refused(fault))
      if (fault === this.#cancel.signal.reason) return failed(httpFailure(new HttpFault('aborted')))
      throw fault
    }
  }

  async #queryVendor(
    name: string,
    { kind, vendorTaskId }: Extract<Question, { type: 'get_video_task' }>,
  ): Promise<Replied> {
    const { vendors, vendorTurns } = this.#parts
    const vendor = vendors.get(name)
    if (vendor === undefined) return notConfigured
    if (!vendorTurns.next(name, this.#call.workspaceId)) return failed(refused(noTurn()))
    this.#upstreamCalled = true
    return replyWithResults(await vendor.query(kind, vendorTaskId, this.#cancel.signal))
  }

  /** Upstreams of the format count, where they can; for all others a tokenizer does. */
  async #countTokens(target: Target): Promise<Replied> {
    const { bodyBytes = 0, surface, workspaceId } = this.#call
    const counter = tokenCounterFor(surface)
    const { signal } = this.#cancel
    const countedFor = { workspaceId, signal }
    const inSteps = <T>(steps: (call: RoutedRequest) => Generator<void, T>) =>
      useBody(this.#call, (call) => finishSteps(steps(call)), steps, signal)
    const counting = await inSteps((call) => counter.buildRequest(target, call))
    if (counting === null) {
      const conversation = await inSteps(({ body }) => counter.client.readRequest(body, makerOf(target)))
      const count = () => estimatePrompt(conversation, countedFor)
      return replyWith(counter.writeCount(await runWhereLarge({ workspaceId, bytes: bodyBytes }, count)))
    }
    const body = await encodeBody(this.#call, counting.body, signal)
    const response = await this.#request(target, { ...counting, body, method: 'POST' })
    if (absentStatuses.includes(response.status)) {
      response.discard()
      return replyWith(counter.writeCount(await useBody(this.#call, (call) => counter.estimate(call.body, countedFor))))
    }
    const translation = { dialect: dialectFor(target.provider, counter.surface), target }
    if (!isSuccess(response)) return failed(await readFailure(translation, response, this.#parts.clock()))
    const bytes = await readBody(response, proxyLimits.upstreamErrorBodyBytesMax)
    const read = bytes === null ? { fault: 'answer_too_large' } : counter.readCount(bytes)
    return 'fault' in read ? unusable(response, read.fault) : replyWith(read.count)
  }

  async #fetchStored(target: Target, stored: StoredResponseQuestion, method: 'GET' | 'DELETE'): Promise<Replied> {
    const { provider } = target
    const response = await this.#request(target, { ...storedRequestFor(provider, stored), method })
    if (response.status === 404) {
      const body = await readBody(response, proxyLimits.upstreamErrorBodyBytesMax)
      return failed(refusalFailure(404, (body === null ? null : readOpenAIError(provider, body)) ?? noResponse))
    }
    if (!isSuccess(response)) {
      response.discard()
      return failed(statusFailure(response.status))
    }
    const bytes = await readBody(response, proxyLimits.upstreamBodyBytesMax)
    if (bytes === null) return unusable(response, 'answer_too_large')
    return isObject(parseJsonBytes(bytes)) ? { bytes } : unusable(response, 'not_json')
  }

  async #request(
    target: Target,
    request: Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body'>,
  ): Promise<HttpResponse> {
    const { http, questionMs } = this.#parts
    const { authenticator, connection } = target.provider
    this.#upstreamCalled = true
    const trace = this.#spans === null ? this.#call.trace : this.#spans.attemptCalled(target, request.url)
    const response = await authenticated(http, authenticator).request({
      ...request,
      headers: { ...request.headers, ...trace },
      connection,
      signal: this.#cancel.signal,
      firstByteTimeoutMs: questionMs,
    })
    this.#spans?.firstByte()
    this.#status = response.status
    return response
  }
}

/** One attempt at the first candidate's provider, in bounded time; nothing enters the log. Throws GatewayError. */
export async function* answerQuestion(
  parts: QuestionParts,
  call: RoutedRequest,
  clientGone: AbortSignal,
): AsyncGenerator<AnswerPart, void, undefined> {
  const { question, candidates } = call
  const [candidate] = candidates
  if (question === undefined || candidate === undefined) throw new Error('a question is put to a candidate')
  const run = new QuestionRun(parts, call, clientGone)
  try {
    const bytes = await run.answer(question, candidate)
    const { level, model } = candidate
    yield { type: 'head', contentType: 'application/json', level, model }
    yield { type: 'bytes', bytes }
  } finally {
    run.end()
  }
}
