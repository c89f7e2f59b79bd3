import type { Usage } from '../../domain/usage/usage.ts'
import type { ServedBill } from './billing.ts'

type Settled = Pick<ServedBill, 'usage' | 'source'>

const larger = (told: Usage['toolCalls'], seen: Usage['toolCalls']): Usage['toolCalls'] => ({
  ...told,
  ...Object.fromEntries(Object.entries(seen).map(([tool, calls]) => [tool, Math.max(calls, told[tool] ?? 0)])),
})

/**
 * Reported usage may not cover the whole response: it lags behind what was delivered, or contradicts it. The larger
 * output counts, and for each built-in tool the larger number of calls. Null when no usage was reported.
 */
export const settleUsage = (told: Usage | null, counted: Usage): Settled => {
  if (told === null) return { usage: counted, source: 'estimated' }
  const toolCalls = larger(told.toolCalls, counted.toolCalls)
  const covers = told.outputTotal > 0 && told.outputTotal >= counted.outputTotal
  if (covers && told.promptTotal > 0) return { usage: { ...told, toolCalls }, source: 'reported' }
  const input = told.promptTotal > 0 ? told : counted
  const { outputTotal, outputReasoning, outputAudio, outputImage } = counted
  return {
    usage: { ...input, toolCalls, outputTotal, outputReasoning, outputAudio, outputImage },
    source: 'estimated',
  }
}
