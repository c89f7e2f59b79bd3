import type { Usage } from '../../domain/usage/usage.ts'
import type { UsageRecorded } from '../../events/types.ts'

type Settled = Pick<UsageRecorded, 'usage' | 'source'>

const larger = (reported: Usage['toolCalls'], seen: Usage['toolCalls']): Usage['toolCalls'] => ({
  ...reported,
  ...Object.fromEntries(Object.entries(seen).map(([tool, calls]) => [tool, Math.max(calls, reported[tool] ?? 0)])),
})

/** Reported usage may lag behind what was delivered, or contradict it: the larger counts. Null without a report. */
export const settleUsage = (reported: Usage | null, counted: Usage): Settled => {
  if (reported === null) return { usage: counted, source: 'estimated' }
  if (reported.negative !== undefined) return { usage: reported, source: 'reported' }
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
