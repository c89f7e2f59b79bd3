import type { StopReason } from '../canonical/reply.ts'

const words: { readonly [R in StopReason]: string } = {
  end: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  filtered: 'refusal',
}

export const messagesStopReason = (reason: StopReason): string => words[reason]

const reasons: ReadonlyMap<unknown, StopReason> = new Map<unknown, StopReason>([
  ['stop_sequence', 'stop_sequence'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'filtered'],
])

/** `end_turn`, `pause_turn` and unknown values are an end. */
export const stopReason = (word: unknown): StopReason => reasons.get(word) ?? 'end'
