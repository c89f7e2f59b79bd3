import type { ServedWith } from '../../domain/pricing/charge.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import type { UsageRecorded } from '../../events/types.ts'

type Settled = Pick<UsageRecorded, 'usage' | 'source'>

const larger = (reported: Usage['toolCalls'], seen: Usage['toolCalls']): Usage['toolCalls'] => ({
  ...reported,
  ...Object.fromEntries(Object.entries(seen).map(([tool, calls]) => [tool, Math.max(calls, reported[tool] ?? 0)])),
})

/** What is not hidden thinking: how much of that was, only the provider knows. */
const visibleOutputOf = ({ outputTotal, outputReasoning }: Usage): number => outputTotal - outputReasoning

const outputOf = ({ outputTotal, outputReasoning, outputAudio, outputImage }: Usage) => ({
  outputTotal,
  outputReasoning,
  outputAudio,
  outputImage,
})

const covers = (reported: Usage, counted: Usage): boolean =>
  reported.outputTotal > 0 &&
  reported.outputTotal >= counted.outputTotal &&
  visibleOutputOf(reported) >= visibleOutputOf(counted)

/** A total that was reported without its thinking may have that in it: that is not added again. */
const largerOutput = (reported: Usage, counted: Usage): ReturnType<typeof outputOf> => {
  const outputReasoning = Math.max(reported.outputReasoning, counted.outputReasoning)
  const outputAudio = Math.max(reported.outputAudio, counted.outputAudio)
  const outputImage = Math.max(reported.outputImage, counted.outputImage)
  const reportedVisible = reported.outputReasoning > 0 ? visibleOutputOf(reported) : 0
  const visible = Math.max(reportedVisible, visibleOutputOf(counted), outputAudio + outputImage)
  return { outputTotal: outputReasoning + visible, outputReasoning, outputAudio, outputImage }
}

const withServed = (counted: Usage, served: ServedWith | undefined): Usage => {
  if (served === undefined) return counted
  const { serviceTier: _asked, ...usage } = counted
  return { ...usage, ...served }
}

/**
 * Reported usage may lag behind what was delivered, or contradict it: the larger counts. Null without a report.
 * `servedWith`: of the answer, as far as it names that; else `asked` has what was asked for.
 */
export const settleUsage = (reported: Usage | null, asked: Usage, servedWith?: ServedWith): Settled => {
  const counted = withServed(asked, servedWith)
  if (reported === null) return { usage: counted, source: 'estimated' }
  if (reported.negative !== undefined) return { usage: reported, source: 'reported' }
  const toolCalls = larger(reported.toolCalls, counted.toolCalls)
  const isCovered = covers(reported, counted)
  if (isCovered && reported.promptTotal > 0) return { usage: { ...reported, toolCalls }, source: 'reported' }
  const input = reported.promptTotal > 0 ? reported : counted
  const output = isCovered ? outputOf(reported) : largerOutput(reported, counted)
  return { usage: { ...input, toolCalls, ...output }, source: 'estimated' }
}
