import type { Directives } from '../answers/directives.ts'
import type { Tokens } from '../answers/tokens.ts'
import type { Answer } from './dialect.ts'

/** Before the first chunk the model thinks. */
const thinkingMsOf = ({ delay_ms = 0, first_chunk_delay_ms = 0 }: Directives): number => delay_ms + first_chunk_delay_ms

/**
 * What the provider bills of a stream that its client cancelled after `written` chunks: the prompt, what was thought and
 * what was written by then. Null where the answer has no usage.
 */
export const billedOfCancelled = (
  answer: Answer,
  directives: Directives,
  { written, elapsedMs }: { readonly written: number; readonly elapsedMs: number },
): Tokens | null => {
  const parts = [...answer.parts]
  const whole = parts.findLast(({ reported }) => reported !== null)?.reported?.tokens ?? null
  if (whole === null) return null
  const written01 = Math.min(1, written / parts.length)
  const thought01 = written > 0 ? 1 : Math.min(1, elapsedMs / Math.max(1, thinkingMsOf(directives)))
  const reasoning = Math.round(whole.reasoning * thought01)
  return {
    ...whole,
    output: reasoning + Math.round((whole.output - whole.reasoning) * written01),
    reasoning,
    audioOut: Math.round(whole.audioOut * written01),
  }
}
