import type { Candidate } from '../../domain/routing/plan.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import { GatewayError, truncateName } from '../../errors/gateway-error.ts'
import { authenticated } from '../../providers/authentication/authenticated.ts'
import {
  buildInSteps,
  openInSteps,
  type StreamRelay,
  type Target,
  type UpstreamAnswer,
  type UpstreamDialect,
  type UpstreamRequest,
} from '../../providers/dialect/dialect.ts'
import { joined } from '../../providers/dialect/event-relay.ts'
import { type Provider, type Providers, policyFor } from '../../providers/dialect/provider.ts'
import { readUpstreamRequestId } from '../../providers/dialect/upstream-request-id.ts'
import { dialectFor } from '../../providers/dialects.ts'
import { type hiddenOutputOf, readHidingRequest } from '../../providers/hidden-output.ts'
import { type HttpClient, HttpFault, type HttpResponse, readBody } from '../../providers/http.ts'
import type { Clock } from '../../runtime/clock.ts'
import { runWhereLarge } from '../../runtime/large-steps.ts'
import type { Observer } from '../../runtime/observer.ts'
import type { CallSpans } from '../../runtime/tracing.ts'
import { WorkTurns } from '../../runtime/work-turns.ts'
import type { AnswerPart, AnswerRequest } from '../dispatch.ts'
import type { CalledDeployment } from './deployment-turns.ts'
import {
  abortedUnsent,
  blamesCaller,
  type CandidateFailure,
  httpFailure,
  passedOver,
  rateLimitFailure,
  readRepetition,
  readRetryAfterSeconds,
  refusalFailure,
  statusFailure,
  upstreamErrorOf,
} from './failure.ts'
import { proxyLimits } from './limits.ts'
import { encodeAnswer, encodeBody, useBody } from './use-body.ts'

export interface UpstreamAttemptParts {
  readonly providers: Providers
  readonly http: HttpClient
  readonly clock: Clock
  readonly observer: Observer
  readonly random: () => number
  readonly firstByteMs: number
  /** The first byte of a whole response comes when the model has finished. */
  readonly wholeAnswerMs: number
  /** Between two chunks of either. */
  readonly idleMs: number
  /** For the usage of a stream whose client left once all else had come. */
  readonly closingUsageMs: number
}

type HidingRequest = Parameters<typeof hiddenOutputOf>[0]

export interface UpstreamTranslation {
  readonly dialect: UpstreamDialect
  readonly target: Target
  /** See UpstreamRequest. */
  readonly droppedTools?: readonly string[]
  /** Of a large request alone, whose body is parsed again when it is read. */
  readonly hiding?: HidingRequest | undefined
}

interface Prepared extends UpstreamTranslation {
  readonly type: 'prepared'
  readonly request: Omit<UpstreamRequest, 'body'> & { readonly body: Uint8Array }
}

export interface WholeAnswer extends UpstreamTranslation {
  readonly response: HttpResponse
  readonly type: 'whole'
  readonly answer: Omit<UpstreamAnswer, 'body'>
  /** For the client, where its usage was reported. A promise while they are written, in turns. */
  readonly bytes: Uint8Array | Promise<Uint8Array>
}

const chunkTurns = WorkTurns.ofWorkspaces(proxyLimits.chunksPerTurn)

/**
 * Pushes the chunks of a stream into its relay, a large one piece by piece: the events of 64 KB are translated in some 5 ms.
 * What the relay holds back is the begin of a large event, which may end with the next piece. A chunk waits where those
 * before have taken their time of a turn, and then goes with what has arrived behind it.
 */
export class ChunkPusher {
  readonly #relay: StreamRelay
  readonly #workspaceId: string
  readonly #takeArrived: HttpResponse['takeArrived']
  #heldBytes = 0

  constructor(relay: StreamRelay, workspaceId: string, { takeArrived }: Pick<HttpResponse, 'takeArrived'>) {
    this.#relay = relay
    this.#workspaceId = workspaceId
    this.#takeArrived = takeArrived
  }

  /** Null where nothing comes of it, or `isOver` by its turn. */
  push(chunk: Uint8Array, isOver: () => boolean = () => false): Uint8Array | null | Promise<Uint8Array | null> {
    const turn = chunkTurns.take(this.#workspaceId)
    if (turn === undefined) return this.#pushChunk(chunk, isOver)
    return turn.then(() => this.#pushChunk(Buffer.concat([chunk, ...this.#takeArrived()]), isOver))
  }

  #pushChunk(chunk: Uint8Array, isOver: () => boolean): Uint8Array | null | Promise<Uint8Array | null> {
    return chunk.length > proxyLimits.chunkPieceBytes ? this.#pushPieces(chunk, isOver) : this.#pushPiece(chunk, isOver)
  }

  async #pushPieces(chunk: Uint8Array, isOver: () => boolean): Promise<Uint8Array | null> {
    const read: Uint8Array[] = []
    for (let at = 0; at < chunk.length; at += proxyLimits.chunkPieceBytes) {
      const bytes = await this.#pushPiece(chunk.subarray(at, at + proxyLimits.chunkPieceBytes), isOver, true)
      if (bytes !== null) read.push(bytes)
    }
    return joined(read)
  }

  #pushPiece(piece: Uint8Array, isOver: () => boolean, inTurn = false) {
    this.#heldBytes += piece.length
    const size = { workspaceId: this.#workspaceId, bytes: this.#heldBytes }
    const push = () => {
      const bytes = isOver() ? null : this.#relay.push(piece)
      if (bytes !== null) this.#heldBytes = 0
      return bytes
    }
    return runWhereLarge(size, push, inTurn ? 0 : undefined)
  }
}

export interface OpenStream extends UpstreamTranslation {
  readonly type: 'stream'
  readonly relay: StreamRelay
  readonly chunks: AsyncIterator<Uint8Array>
  /** Into the relay. */
  readonly pusher: ChunkPusher
  readonly response: HttpResponse
  readonly first: Uint8Array | null
}

interface Failed {
  readonly type: 'failed'
  readonly failure: CandidateFailure
}

type AttemptOutcome = WholeAnswer | OpenStream | Failed

const failed = (failure: CandidateFailure): Failed => ({ type: 'failed', failure })

const readWhole = async (
  translation: UpstreamTranslation,
  call: AnswerRequest,
  response: HttpResponse,
): Promise<AttemptOutcome> => {
  const { status } = response
  const bytes = await readBody(response, proxyLimits.upstreamBodyBytesMax)
  if (bytes === null) return failed({ status, reason: 'answer_too_large' })
  const { dialect, target } = translation
  const size = { workspaceId: call.workspaceId, bytes: bytes.length }
  const read = await runWhereLarge(size, () => useBody(call, (asked) => dialect.readAnswer(target, asked, bytes)))
  if ('fault' in read) return failed({ status, reason: read.fault })
  const { body = bytes, ...answer } = read // JSON refers to the parsed request, which is larger than its bytes.
  const written = encodeAnswer(call, bytes.length, body)
  if (written instanceof Promise) written.catch(() => undefined) // Its fault is that of what awaits it: the bill comes first.
  return { type: 'whole', ...translation, response, answer, bytes: written }
}

/** Some upstreams answer a stream's request with a page or a JSON body; a response without a type is inspected. */
const isNoStream = ({ headers }: HttpResponse): boolean => /json|html/i.test(String(headers['content-type'] ?? ''))

const readChunk = (chunks: OpenStream['chunks']): Promise<IteratorResult<Uint8Array> | HttpFault> =>
  chunks.next().catch((fault: unknown) => {
    if (fault instanceof HttpFault) return fault
    throw fault
  })

const reportedBefore = ({ reportedUsage }: StreamRelay): Pick<CandidateFailure, 'reportedUsage'> =>
  reportedUsage === null ? {} : { reportedUsage }

/** The first complete event decides: until then another candidate may serve. */
const openStream = async (
  translation: UpstreamTranslation,
  call: AnswerRequest,
  response: HttpResponse,
  signal: AbortSignal,
): Promise<AttemptOutcome> => {
  if (isNoStream(response)) {
    response.discard()
    return failed({ status: response.status, reason: 'not_a_stream' })
  }
  const { dialect, target } = translation
  const relay = await useBody<StreamRelay>(
    call,
    (read) => dialect.openRelay(target, read),
    (read) => openInSteps(dialect, target, read),
    signal,
  )
  const chunks = response.body[Symbol.asyncIterator]()
  const pusher = new ChunkPusher(relay, call.workspaceId, response)
  let first: Uint8Array | null = null
  while (!relay.answering && relay.state === 'open') {
    const read = await readChunk(chunks)
    if (read instanceof HttpFault) return failed({ ...httpFailure(read), ...reportedBefore(relay) })
    first = read.done === true ? relay.end() : await pusher.push(read.value)
  }
  if (relay.answering && (first !== null || relay.state !== 'broken'))
    return { type: 'stream', ...translation, relay, chunks, pusher, response, first }
  response.discard()
  return failed({ status: response.status, reason: relay.fault ?? 'empty_answer' })
}

const readError = async ({ dialect, target }: UpstreamTranslation, response: HttpResponse) => {
  const body = await readBody(response, proxyLimits.upstreamErrorBodyBytesMax)
  return body === null ? null : dialect.readRefusal(target.provider, body)
}

export const isSuccess = ({ status }: HttpResponse): boolean => status >= 200 && status <= 299

export const readFailure = async (
  translation: UpstreamTranslation,
  response: HttpResponse,
  nowMs: number,
): Promise<CandidateFailure> => {
  const failure = await readStatusFailure(translation, response, nowMs)
  const { repeatAfterMs } = readRepetition(response, nowMs)
  if (failure.reason === 'account' || repeatAfterMs === undefined) return failure
  return { ...failure, repeatAfterMs: repeatAfterMs || (failure.retryAfterSeconds ?? 0) * 1_000 }
}

const readStatusFailure = async (
  translation: UpstreamTranslation,
  response: HttpResponse,
  nowMs: number,
): Promise<CandidateFailure> => {
  const { status } = response
  const isLimit = status === 429
  const refusal = isLimit || blamesCaller(status) ? await readError(translation, response) : null
  if (isLimit) return rateLimitFailure(refusal, readRetryAfterSeconds(response, nowMs, refusal))
  if (refusal !== null) return refusalFailure(status, refusal)
  response.discard()
  return statusFailure(status)
}

const withRequestId = async (
  provider: Provider,
  response: HttpResponse,
  signal: AbortSignal,
  read: () => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> => {
  const outcome = await read().catch((fault: unknown) => {
    if (fault instanceof HttpFault) return failed(httpFailure(fault))
    if (signal.aborted && fault === signal.reason) return failed(httpFailure(new HttpFault('aborted')))
    throw fault
  })
  if (outcome.type !== 'failed') return outcome
  const upstreamRequestId = readUpstreamRequestId(provider, response.headers)
  return upstreamRequestId === null ? outcome : failed({ ...outcome.failure, upstreamRequestId })
}

const send = async (
  parts: UpstreamAttemptParts,
  { request: { url, headers, body, droppedTools = [] }, dialect, target, hiding }: Prepared,
  call: AnswerRequest,
  signal: AbortSignal,
  spans: CallSpans | null,
): Promise<AttemptOutcome> => {
  const { http, clock, observer } = parts
  const translation = { dialect, target, droppedTools, hiding }
  const timeouts = policyFor(target.provider.timeouts, target.model)
  const { firstByteMs = parts.firstByteMs, idleMs = parts.idleMs, connectMs, answerMs } = timeouts
  const startedMs = performance.now()
  observer.upstreamCalled(translation.target.provider.name, 'answer')
  const trace = spans === null ? call.trace : spans.attemptCalled(target, url)
  const response = await authenticated(http, target.provider.authenticator).request({
    url,
    method: 'POST',
    headers: trace === undefined ? headers : { ...headers, ...trace },
    body,
    signal,
    connection: target.provider.connection,
    ...(connectMs === undefined ? {} : { connectTimeoutMs: connectMs }),
    firstByteTimeoutMs: call.stream ? firstByteMs : (answerMs ?? parts.wholeAnswerMs),
    idleTimeoutMs: idleMs,
    ...(answerMs === undefined ? {} : { answerTimeoutMs: answerMs }),
  })
  spans?.firstByte()
  observer.stageEnded('upstream_first_byte', call.surface, (performance.now() - startedMs) / 1_000)
  return withRequestId(target.provider, response, signal, async () => {
    if (!isSuccess(response)) return failed(await readFailure(translation, response, clock()))
    return call.stream ? openStream(translation, call, response, signal) : readWhole(translation, call, response)
  })
}

export const targetOf = (provider: Provider, { model, upstreamModel, sheet }: Candidate, clock: Clock): Target => {
  const nowSeconds = (): number => Math.floor(clock() / 1_000)
  return { provider, model, upstreamModel, sheet, calledAtSeconds: nowSeconds(), nowSeconds }
}

interface Built {
  readonly request: UpstreamRequest
  readonly hiding?: HidingRequest
}

function* buildLarge(dialect: UpstreamDialect, target: Target, call: AnswerRequest): Generator<void, Built> {
  const request = yield* buildInSteps(dialect, target, call)
  yield
  return { request, hiding: yield* readHidingRequest(call.surface, call.body) }
}

const prepare = async (
  { clock }: UpstreamAttemptParts,
  call: AnswerRequest,
  { provider, candidate }: CalledDeployment,
  signal: AbortSignal,
): Promise<Prepared | Failed> => {
  const dialect = dialectFor(provider, call.surface)
  const target = targetOf(provider, candidate, clock)
  try {
    const { request: built, hiding } = await useBody<Built>(
      call,
      (read) => ({ request: dialect.buildRequest(target, read) }),
      (read) => buildLarge(dialect, target, read),
      signal,
    )
    const { body, ...request } = built
    // Encoded once, here: the tree would be kept beside its bytes until the upstream answers.
    const bytes = await encodeBody(call, body, signal)
    return { type: 'prepared', dialect, target, hiding, request: { ...request, body: bytes } }
  } catch (fault) {
    if (fault instanceof GatewayError) return failed(passedOver(fault))
    if (signal.aborted && fault === signal.reason) return failed(abortedUnsent)
    throw fault
  }
}

interface CandidateTurn {
  readonly called: CalledDeployment
  readonly failedProvider: string | null
  /** Called right before the upstream is. */
  readonly onCalled: (translation: UpstreamTranslation) => void
  readonly spans: CallSpans | null
}

/** Calls one candidate. A failure of the upstream is returned; only faults of our own are thrown. */
export const attemptUpstream = async (
  parts: UpstreamAttemptParts,
  call: AnswerRequest,
  { called, failedProvider, onCalled, spans }: CandidateTurn,
  signal: AbortSignal,
): Promise<AttemptOutcome> => {
  const prepared = await prepare(parts, call, called, signal)
  if (prepared.type === 'failed') return prepared
  if (signal.aborted) return failed(abortedUnsent)
  if (failedProvider !== null) parts.observer.fellBack(failedProvider)
  onCalled(prepared)
  const fail = (failure: CandidateFailure): AttemptOutcome => {
    parts.observer.upstreamFailed(prepared.target.provider.name, 'answer', upstreamErrorOf(failure))
    return failed(failure)
  }
  try {
    const tried = await send(parts, prepared, call, signal, spans)
    return tried.type === 'failed' ? fail(tried.failure) : tried
  } catch (fault) {
    if (fault instanceof HttpFault) return fail(httpFailure(fault))
    throw fault
  }
}

/** The candidate whose upstream was called last. */
export interface CalledUpstream extends UpstreamTranslation {
  readonly candidate: Candidate
  readonly calledAtMs: number
  /** By its stream before it answered. */
  readonly reportedUsage: Usage | null
}

export interface ServedRequest<Answered = WholeAnswer | OpenStream> {
  readonly candidate: Candidate
  readonly deployment: CalledDeployment['deployment']
  readonly calledAtMs: number
  readonly answered: Answered
}

export const headOf = ({ candidate, answered }: ServedRequest): Extract<AnswerPart, { type: 'head' }> => ({
  type: 'head',
  contentType: answered.type === 'stream' ? 'text/event-stream; charset=utf-8' : 'application/json',
  level: candidate.level,
  model: candidate.model,
  ...(answered.droppedTools?.length
    ? { droppedTools: answered.droppedTools.slice(0, proxyLimits.droppedToolsMax).map(truncateName) }
    : {}),
})
