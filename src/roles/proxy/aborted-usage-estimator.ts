import { parseUsd } from '../../domain/money.ts'
import { chargeFor, perTokenPicos } from '../../domain/pricing/charge.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import { finishSteps } from '../../encoding/steps.ts'
import type { PriceSheet, UsageRecorded } from '../../events/types.ts'
import { readDrainPolicy } from '../../providers/dialect/provider.ts'
import { hiddenOutputOf, readHidingRequest } from '../../providers/hidden-output.ts'
import type { AnswerRequest } from '../dispatch.ts'
import type { CalledUpstream, ServedRequest } from './attempt.ts'
import { proxyLimits } from './limits.ts'

type HiddenEstimate = NonNullable<UsageRecorded['estimate']>
type Estimated = Pick<UsageRecorded, 'usage' | 'estimate'>

interface AbandonedStream {
  /** A cancel now would hide what is owed. `visible`: a part of the answer was visible. */
  readonly isHidden: (visible: boolean) => boolean
  /** The text that the reservation pays for: more is not read on for. */
  readonly charactersMax: number
}

const newRateWeight = 1 / 8
/** No token of a text has more. */
const charactersPerToken = 8

const payableCharacters = ({ per_million_tokens: { output } }: PriceSheet, reservedUsd: string): number => {
  const rate = perTokenPicos(output)
  return rate === 0n ? Number.POSITIVE_INFINITY : charactersPerToken * Number(parseUsd(reservedUsd) / rate)
}

const withOutput = (usage: Usage, outputTotal: number): Usage => {
  const outputReasoning = Math.max(0, usage.outputReasoning - (usage.outputTotal - outputTotal))
  const remaining = outputTotal - outputReasoning
  const outputAudio = Math.min(usage.outputAudio, remaining)
  const outputImage = Math.min(usage.outputImage, remaining - outputAudio)
  return { ...usage, outputTotal, outputReasoning, outputAudio, outputImage }
}

/** With as much of its output as the reservation pays for; its input is charged in any case. */
const limitToReservation = (sheet: PriceSheet, usage: Usage, reservedUsd: string): Usage => {
  const reservedPicos = parseUsd(reservedUsd)
  const fits = (outputTotal: number): boolean =>
    chargeFor(sheet, withOutput(usage, outputTotal)).totalPicos <= reservedPicos
  if (fits(usage.outputTotal)) return usage
  let least = 0
  let most = usage.outputTotal
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2)
    if (fits(middle)) least = middle
    else most = middle
  }
  return withOutput(usage, least)
}

/** Some report it with each event: what was thought before a text that has begun is final. */
const isThoughtReported = ({ reportedUsage }: CalledUpstream, { outputTotal, outputReasoning }: Usage): boolean =>
  (reportedUsage?.outputReasoning ?? 0) > 0 && outputTotal > outputReasoning

/** What a cancelled stream did not show: thinking, by its time and how fast its model thought in its last streams. */
export class AbortedUsageEstimator {
  readonly #tokensPerMinute = new Map<string, number>()

  observe({ answered, calledAtMs, candidate: { model } }: ServedRequest, firstVisibleMs: number | null): void {
    if (answered.type === 'whole' || !answered.relay.isFinished || firstVisibleMs === null) return
    const thinkingMs = firstVisibleMs - calledAtMs
    const thinkingTokens = answered.relay.reportedUsage?.outputReasoning ?? 0
    if (thinkingTokens === 0 || thinkingMs < proxyLimits.observedThinkingMsMin) return
    const rate = (thinkingTokens * 60_000) / thinkingMs
    const known = this.#tokensPerMinute.get(model)
    this.#tokensPerMinute.delete(model)
    this.#tokensPerMinute.set(model, known === undefined ? rate : known + (rate - known) * newRateWeight)
    const [oldest] = this.#tokensPerMinute.keys()
    if (this.#tokensPerMinute.size > proxyLimits.observedModelsMax && oldest !== undefined)
      this.#tokensPerMinute.delete(oldest)
  }

  describeAbandonedStream(call: AnswerRequest, called: CalledUpstream): AbandonedStream {
    const { thinking, beyondText } = this.#hiddenOutputOf(call, called)
    const { cancelStopsBilling } = readDrainPolicy(called.target.provider)
    return {
      isHidden: (visible) => !cancelStopsBilling || beyondText || (thinking && !visible),
      charactersMax: payableCharacters(called.target.sheet, call.reserved),
    }
  }

  /** At most the reservation. `visibleMs`: of the first visible token, or of the cancel where there was none. */
  estimate(call: AnswerRequest, called: CalledUpstream, counted: Usage, visibleMs: number): Estimated {
    const limit = (usage: Usage): Usage => limitToReservation(called.candidate.sheet, usage, call.reserved)
    if (!this.#hiddenOutputOf(call, called).thinking || isThoughtReported(called, counted))
      return { usage: limit(counted) }
    const rate = this.#rateOf(called.candidate.model)
    const thinkingMs = Math.max(0, Math.round(visibleMs - called.calledAtMs))
    const thought = Math.round((thinkingMs * rate.tokensPerMinute) / 60_000)
    const outputReasoning = Math.max(counted.outputReasoning, thought)
    const outputTotal = counted.outputTotal + outputReasoning - counted.outputReasoning
    const usage = limit({ ...counted, outputTotal, outputReasoning })
    const hiddenTokens = Math.max(0, usage.outputTotal - counted.outputTotal)
    return { usage, estimate: { hiddenTokens, thinkingMs, ...rate } }
  }

  #hiddenOutputOf(
    call: AnswerRequest,
    { candidate, target, hiding }: CalledUpstream,
  ): ReturnType<typeof hiddenOutputOf> {
    const request = hiding ?? finishSteps(readHidingRequest(call.surface, call.body))
    return hiddenOutputOf(request, target, this.#tokensPerMinute.has(candidate.model))
  }

  #rateOf(model: string): Pick<HiddenEstimate, 'tokensPerMinute' | 'basis'> {
    const known = this.#tokensPerMinute.get(model)
    return known === undefined
      ? { tokensPerMinute: proxyLimits.thinkingTokensPerMinute, basis: 'default' }
      : { tokensPerMinute: Math.round(known), basis: 'observed' }
  }
}
