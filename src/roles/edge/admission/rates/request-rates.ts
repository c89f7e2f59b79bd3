import type { UsageBounds } from '../../../../domain/pricing/worst-case.ts'
import { type RateLimit, type RateLimits, rateLimitText } from '../../../../domain/rates/rate-limits.ts'
import type { RoutePlan } from '../../../../domain/routing/plan.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { type HttpMiddleware, keyOfContext, type RateLimiter } from '../../../../http/context.ts'
import { admissionLimits } from '../limits.ts'
import type { RateView } from './rate-share.ts'
import type { RateRefusal, Rates, TakenUnits } from './rates.ts'

/** In OpenAI's format: `120ms`, `6s`, `1m0s`. */
const durationText = (ms: number): string => {
  if (ms > 0 && ms < 1_000) return `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  const seconds = `${(ms % 60_000) / 1_000}s`
  return minutes === 0 ? seconds : `${minutes}m${seconds}`
}

const tighter = (one: RateView, other: RateView): RateView => {
  if (one.remaining !== other.remaining) return one.remaining < other.remaining ? one : other
  return one.resetMs >= other.resetMs ? one : other
}

const tightestOf = (limits: readonly RateLimit[], measure: RateLimit['measure'], rates: Rates): RateView | null => {
  let found: RateView | null = null
  for (const limit of limits) {
    if (limit.measure !== measure) continue
    const view = rates.view(limit)
    found = found === null ? view : tighter(found, view)
  }
  return found
}

const headersOf = (noun: 'Requests' | 'Tokens') => ({
  limit: `X-RateLimit-Limit-${noun}`,
  remaining: `X-RateLimit-Remaining-${noun}`,
  reset: `X-RateLimit-Reset-${noun}`,
})

const shownMeasures = [
  ['requests', headersOf('Requests')],
  ['tokens', headersOf('Tokens')],
] as const

interface RequestRatesParts {
  readonly rates: Rates
  readonly limits: RateLimits
  readonly requestId: string
  readonly setHeader: (name: string, value: string) => void
}

const refusal = ({ limit, waitMs }: RateRefusal): GatewayError =>
  new GatewayError(
    limit.measure === 'slots' ? 'concurrency_limit_exceeded' : 'rate_limit_exceeded',
    rateLimitText(limit),
    { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) },
  )

type TakenAll = readonly TakenUnits[] | RateRefusal

const isRefused = (result: TakenAll): result is RateRefusal => 'waitMs' in result

const giveBack = (taken: readonly TakenUnits[]): void => {
  for (const each of taken) each.giveBack()
}

class RequestRates implements RateLimiter {
  readonly #parts: RequestRatesParts
  /** Of the limits that every request counts against. */
  #entered: readonly TakenUnits[] = []
  #slots: readonly TakenUnits[] = []
  #headers: readonly RateLimit[]
  #areHeadersSent = false

  constructor(parts: RequestRatesParts) {
    this.#parts = parts
    this.#headers = parts.limits.ofAll
  }

  /** Throws `rate_limit_exceeded` or `concurrency_limit_exceeded`, and takes nothing then. */
  enter(): void | Promise<void> {
    const result = this.#takeAll(this.#parts.limits.ofAllAtOnce, () => 1)
    return result instanceof Promise ? result.then((later) => this.#keep(later)) : this.#keep(result)
  }

  /** Counts the submit of a task against its model's limits. Throws like `enter`. */
  async admitTask(model: string): Promise<void> {
    const ofModel = this.#ofModel(model).filter(({ measure }) => measure !== 'tokens')
    const result = await this.#takeAll(ofModel, () => 1)
    this.#headersOf(ofModel)
    if (isRefused(result)) throw this.#refuse(result)
    this.#keepSlots(result)
  }

  /** Returns the plan without the models whose limits are reached. Throws like `enter` where none is left. */
  async admit(plan: RoutePlan, demand: UsageBounds): Promise<RoutePlan> {
    const { rates, limits: inForce, requestId } = this.#parts
    if (inForce.ofAllTokens.length === 0 && inForce.ofModel === null) {
      this.#sendHeaders()
      return plan
    }
    const units = (limit: RateLimit): number => (limit.measure === 'tokens' ? this.#tokensOf(limit, demand) : 1)
    const ofAll = await this.#takeAll(inForce.ofAllTokens, units)
    if (isRefused(ofAll)) throw this.#refuse(ofAll)
    const { byModel, refused } = await this.#takeModels(plan, units)
    if (byModel.size === 0 && refused.length > 0) {
      giveBack(ofAll)
      throw this.#refuse(refused.reduce((one, other) => (one.waitMs <= other.waitMs ? one : other)))
    }
    rates.open(requestId, { ofAll, byModel })
    this.#sendHeaders()
    if (refused.length === 0) return plan
    return { ...plan, candidates: plan.candidates.filter(({ model }) => byModel.has(model)) }
  }

  #keep(result: TakenAll): void {
    if (isRefused(result)) throw refusal(result)
    this.#entered = result
    this.#keepSlots(result)
  }

  leave(): void {
    if (!this.#areHeadersSent) this.#sendHeaders()
    giveBack(this.#slots)
    this.#slots = []
  }

  #ofModel(model: string): readonly RateLimit[] {
    return this.#parts.limits.ofModel?.(model) ?? []
  }

  async #takeModels(
    plan: RoutePlan,
    units: (limit: RateLimit) => number,
  ): Promise<{ readonly byModel: Map<string, readonly TakenUnits[]>; readonly refused: readonly RateRefusal[] }> {
    const byModel = new Map<string, readonly TakenUnits[]>()
    const refused: RateRefusal[] = []
    for (const model of new Set(plan.candidates.map((candidate) => candidate.model))) {
      const ofModel = this.#ofModel(model)
      this.#headers = [...this.#headers, ...ofModel]
      const result = await this.#takeAll(ofModel, units)
      if (isRefused(result)) refused.push(result)
      else {
        byModel.set(model, result)
        this.#keepSlots(result)
      }
    }
    return { byModel, refused }
  }

  #takeAll(
    wanted: readonly RateLimit[],
    units: (limit: RateLimit) => number,
    before: readonly TakenUnits[] = [],
  ): TakenAll | Promise<TakenAll> {
    const all = [...before]
    for (const [place, limit] of wanted.entries()) {
      const result = this.#parts.rates.take(limit, units(limit))
      if (result instanceof Promise) return this.#takeLater(all, result, wanted.slice(place + 1), units)
      if ('waitMs' in result) {
        giveBack(all)
        return result
      }
      all.push(result)
    }
    return all
  }

  async #takeLater(
    before: readonly TakenUnits[],
    next: Promise<TakenUnits | RateRefusal>,
    others: readonly RateLimit[],
    units: (limit: RateLimit) => number,
  ): Promise<TakenAll> {
    try {
      const result = await next
      if (!('waitMs' in result)) return this.#takeAll(others, units, [...before, result])
      giveBack(before)
      return result
    } catch (fault) {
      giveBack(before)
      throw fault
    }
  }

  /** Estimated from the bytes of the request, and from the last answers unless the caller asks for less. */
  #tokensOf(limit: RateLimit, { inputTokensMax, outputTokensMax, choices }: UsageBounds): number {
    const output = this.#parts.rates.expectedOutput(limit)
    const outputMax = outputTokensMax === null ? output : outputTokensMax * choices
    return Math.ceil(inputTokensMax / admissionLimits.rateBytesPerToken + Math.min(output, outputMax))
  }

  #keepSlots(taken: readonly TakenUnits[]): void {
    for (const each of taken) if (each.limit.measure === 'slots') this.#slots = [...this.#slots, each]
  }

  #refuse(refused: RateRefusal): GatewayError {
    giveBack(this.#entered.filter(({ limit }) => limit.measure === 'requests'))
    this.#sendHeaders()
    return refusal(refused)
  }

  #headersOf(more: readonly RateLimit[]): void {
    this.#headers = [...this.#headers, ...more]
    this.#sendHeaders()
  }

  #sendHeaders(): void {
    this.#areHeadersSent = true
    for (const [measure, names] of shownMeasures) {
      const view = tightestOf(this.#headers, measure, this.#parts.rates)
      if (view === null) continue
      this.#parts.setHeader(names.limit, String(view.perMinute))
      this.#parts.setHeader(names.remaining, String(view.remaining))
      this.#parts.setHeader(names.reset, durationText(view.resetMs))
    }
  }
}

/** Counts the request against the limits of its key and workspace, and reports them in the response headers. */
export const limitRate =
  (rates: Rates): HttpMiddleware =>
  async (ctx, next) => {
    const limits = rates.limits.find(keyOfContext(ctx))
    if (limits === null) return next()
    const { requestId } = ctx.state
    const setHeader = (name: string, value: string): void => {
      if (!ctx.res.headersSent) ctx.res.setHeader(name, value)
    }
    const request = new RequestRates({ rates, limits, requestId, setHeader })
    try {
      const entered = request.enter()
      if (entered !== undefined) await entered
      ctx.state.rates = request
      await next()
    } finally {
      request.leave()
    }
  }
