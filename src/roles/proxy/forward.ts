import type { LogOf } from '../../log/event-log.ts'
import type { HttpClient } from '../../providers/http.ts'
import type { Providers } from '../../providers/provider.ts'
import type { Clock } from '../../runtime/clock.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import { noObserver, type Observer } from '../../runtime/observer.ts'
import { type AnswerPart, type AnswerRequest, asksForAnswer, type Dispatch } from '../dispatch.ts'
import type { OpenCalls } from '../open-calls.ts'
import { CallsInFlight } from './calls-in-flight.ts'
import type { ProxyEvent } from './closing.ts'
import { proxyLimits } from './limits.ts'
import { QueryPace } from './query-pace.ts'
import { answerQuestion, type QuestionParts, type Vendors } from './question.ts'
import { RequestRun, type RunParts } from './request-run.ts'

export interface ForwardParts {
  readonly log: LogOf<ProxyEvent>
  readonly providers: Providers
  readonly vendors: Vendors
  readonly http: HttpClient
  readonly clock: Clock
  readonly logger: Logger
  readonly observer?: Observer
  readonly inFlight?: CallsInFlight
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
    inFlight: new CallsInFlight(),
    firstByteMs: proxyLimits.upstreamFirstByteMs,
    wholeAnswerMs: proxyLimits.upstreamWholeAnswerMs,
    idleMs: proxyLimits.upstreamIdleMs,
    closingUsageMs: proxyLimits.closingUsageMs,
    closingAckMs: sharedLimits.closingAckMs,
    questionMs: proxyLimits.upstreamQuestionMs,
    vendorTurns: new QueryPace(parts.clock),
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
    const { answered, ...serving } = await run.serve()
    if (answered.type === 'whole') {
      for (const part of await run.settleWhole({ ...serving, answered })) yield part
      return
    }
    yield run.openStream({ ...serving, answered })
    let bytes = answered.first
    for (;;) {
      if (run.release(bytes)) yield { type: 'bytes', bytes }
      if (run.streamIsOver) break
      bytes = await run.read(answered)
    }
    yield await run.closeStream(answered)
  } catch (fault) {
    run.recordFault()
    throw fault
  } finally {
    await run.end()
  }
}
