import type { Usage } from '../../domain/usage/usage.ts'
import type { ServedBill } from './billing.ts'

type Settled = Pick<ServedBill, 'usage' | 'source'>

const larger = (reported: Usage['toolCalls'], seen: Usage['toolCalls']): Usage['toolCalls'] => ({
  ...reported,
  ...Object.fromEntries(Object.entries(seen).map(([tool, calls]) => [tool, Math.max(calls, reported[tool] ?? 0)])),
})

/**
 * Reported usage may not cover the whole response: it lags behind what was delivered, or contradicts it. The larger
 * output counts, and for each built-in tool the larger number of calls. Null when no usage was reported.
 */
export const settleUsage = (reported: Usage | null, counted: Usage): Settled => {
  if (reported === null) return { usage: counted, source: 'estimated' }
  const toolCalls = larger(reported.toolCalls, counted.toolCalls)
  const covers = reported.outputTotal > 0 && reported.outputTotal >= counted.outputTotal
  if (covers && reported.promptTotal > 0) return { usage: { ...reported, toolCalls }, source: 'reported' }
  const input = reported.promptTotal > 0 ? reported : counted
  const { outputTotal, outputReasoning, outputAudio, outputImage } = counted
  return {
    usage: { ...input, toolCalls, outputTotal, outputReasoning, outputAudio, outputImage },
    source: 'estimated',
  }
}
