import type { JsonObject } from '../../src/encoding/json.ts'
import type { Output } from '../answers/output.ts'
import type { Asked, ReportedUsage } from '../http/dialect.ts'
import { idOf } from './content.ts'

const stopReasons = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const

export const endingOf = ({ directives }: Asked, output: Output): JsonObject => {
  const usual = output.stopWord === null ? stopReasons[output.finishReason] : 'stop_sequence'
  const reason = directives.finish_reason ?? usual
  return {
    stop_reason: reason,
    stop_sequence: output.stopWord,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
  }
}

export const noEnding: JsonObject = { stop_reason: null, stop_sequence: null, stop_details: null }

export const messageOf = (
  asked: Asked,
  content: readonly JsonObject[],
  ending: JsonObject,
  reported: ReportedUsage | null,
): JsonObject => ({
  id: idOf('msg', asked),
  type: 'message',
  role: 'assistant',
  model: asked.model,
  content,
  ...ending,
  container: null,
  diagnostics: null,
  ...(reported === null ? {} : { usage: reported.usage }),
})
