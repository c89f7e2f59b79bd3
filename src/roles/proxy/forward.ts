import { GatewayError } from '../../errors/gateway-error.ts'
import type { Providers } from '../../providers/dialect/provider.ts'
import type { HttpClient } from '../../providers/http.ts'
import type { Clock } from '../../runtime/clock.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import { noObserver, type Observer } from '../../runtime/observer.ts'
import { type AnswerPart, type AnswerRequest, asksForAnswer, type Dispatch } from '../dispatch.ts'
import type { OpenCalls } from '../open-calls.ts'
import { AbortedUsageEstimator } from './aborted-usage-estimator.ts'
import { headOf } from './attempt.ts'
import { CallsInFlight } from './calls-in-flight.ts'
import type { ClosingParts } from './closing.ts'
import type { Deployments } from './deployments.ts'
import { proxyLimits } from './limits.ts'
import { answerQuestion, QueryPace, type QuestionParts, type Vendors } from './question.ts'
import { RequestRun, type RunParts } from './request-run.ts'
import { isStreamOver } from './run-state.ts'

export interface ForwardParts {
  readonly log: ClosingParts['log']
  readonly providers: Providers
  readonly vendors: Vendors
  readonly http: HttpClient
  readonly clock: Clock
  readonly logger: Logger
  readonly observer?: Observer
  readonly random?: () => number
  readonly inFlight?: CallsInFlight
  readonly deployments: Deployments
  /** How many processes share the limits of deployments and vendors; 1 by default. */
  readonly sharers?: number | undefined
  readonly firstByteMs?: number
  readonly wholeAnswerMs?: number
  readonly idleMs?: number
  readonly closingUsageMs?: number
  readonly closingAckMs?: number
  readonly questionMs?: number
}

/**
 * Takes routed calls to their providers. Each call ends with exactly one UsageRecorded or RequestFailed, acknowledged
 * before the end of the response is released; a query ends with none. The response throws GatewayError; a reader's pace
 * is the upstream's pace.
 */
export const createForward = (parts: ForwardParts): Dispatch => {
  const runParts: RunParts & QuestionParts = {
    observer: noObserver,
    random: Math.random,
    inFlight: new CallsInFlight(),
    firstByteMs: proxyLimits.upstreamFirstByteMs,
    wholeAnswerMs: proxyLimits.upstreamWholeAnswerMs,
    idleMs: proxyLimits.upstreamIdleMs,
    closingUsageMs: proxyLimits.closingUsageMs,
    closingAckMs: sharedLimits.closingAckMs,
    questionMs: proxyLimits.upstreamQuestionMs,
    vendorTurns: new QueryPace(() => performance.now(), parts.sharers),
    estimator: new AbortedUsageEstimator(),
    ...parts,
  }
  return (call, clientGone, openCalls) =>
    asksForAnswer(call) ? forward(runParts, call, clientGone, openCalls) : answerQuestion(runParts, call, clientGone)
}

async function* forward(
  parts: RunParts,
  call: AnswerRequest,
  clientGone: AbortSignal,
  openCalls?: OpenCalls,
): AsyncGenerator<AnswerPart, void, undefined> {
  const run = new RequestRun(parts, call, clientGone, openCalls)
  try {
    const { answered, ...served } = await run.serve()
    if (answered.type === 'whole') {
      for (const part of await run.settleWhole({ ...served, answered })) yield part
      return
    }
    const stream = run.openStream({ ...served, answered })
    yield headOf({ ...served, answered })
    while (!isStreamOver(run.state)) {
      const bytes = await stream.read()
      if (bytes !== null) yield { type: 'bytes', bytes }
    }
    yield await run.closeStream(answered.relay)
  } catch (fault) {
    run.apply({ type: 'fault', error: new GatewayError('internal_error', '') })
    throw fault
  } finally {
    await run.end()
  }
}
