import { type Provider, policyFor } from '../../providers/dialect/provider.ts'
import { proxyLimits } from './limits.ts'

type Retries = Partial<Omit<NonNullable<Provider['retries']>, 'models'>>

interface Tried {
  readonly failures: number
  /** Since the first call began. */
  readonly elapsedMs: number
  readonly retryAfterMs: number
}

const firstDelayMs = 500
const delayMsMax = 8_000
const spread = 0.25

export const retriesFor = ({ retries }: Provider, model: string): Retries => policyFor(retries, model)

/** Until the same candidate is called again; null: it is not, since its retries or their time are used up. */
export const callAgainAfterMs = (
  { max = 0, budgetMs = proxyLimits.retriesMs }: Retries,
  { failures, elapsedMs, retryAfterMs }: Tried,
  random: () => number,
): number | null => {
  if (failures > max) return null
  const backOffMs = Math.min(delayMsMax, firstDelayMs * 2 ** (failures - 1)) * (1 - spread * random())
  const delayMs = Math.max(backOffMs, retryAfterMs)
  return elapsedMs + delayMs > budgetMs ? null : delayMs
}
