import type { JsonObject } from '../../encoding/json.ts'
import type { StopReason } from '../canonical/reply.ts'

const words: { readonly [R in StopReason]: string } = {
  end: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  filtered: 'refusal',
}

/** Null while the answer goes on. Refusals and Claude's own tools alone have details; the SDK's types have them in every answer. */
export const endingOnWire = (reason: StopReason | null, stopSequence: string | null): JsonObject => ({
  stop_reason: reason === null ? null : words[reason],
  stop_sequence: stopSequence,
  stop_details: null,
  container: null,
})

const reasons: ReadonlyMap<unknown, StopReason> = new Map<unknown, StopReason>([
  ['stop_sequence', 'stop_sequence'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'filtered'],
])

export const stopReason = (word: unknown): StopReason => reasons.get(word) ?? 'end'
