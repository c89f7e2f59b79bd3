import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Reply, ReplyPart, StopReason } from '../canonical/reply.ts'
import type { AnswerFault, Target } from '../dialect/dialect.ts'
import { readConverseUsage } from './usage.ts'

const reasons: ReadonlyMap<unknown, StopReason> = new Map<unknown, StopReason>([
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['stop_sequence', 'stop_sequence'],
  ['guardrail_intervened', 'filtered'],
  ['content_filtered', 'filtered'],
])

/** `end_turn` and unknown values are an end. */
export const converseStopReason = (word: unknown): StopReason => reasons.get(word) ?? 'end'

const readReasoning = ({ reasoningText, redactedContent }: JsonObject): readonly ReplyPart[] => {
  if (typeof redactedContent === 'string') return [{ type: 'redacted_thinking', data: redactedContent }]
  const { text, signature } = asObject(reasoningText)
  return [{ type: 'thinking', text: asText(text), signature: asText(signature) || null }]
}

const readBlock = (block: JsonObject): readonly ReplyPart[] => {
  const { text, toolUse, reasoningContent, citationsContent } = block
  if (typeof text === 'string') return [{ type: 'text', text, citations: [] }]
  if (isObject(reasoningContent)) return readReasoning(reasoningContent)
  if (isObject(citationsContent)) return asArray(citationsContent['content']).filter(isObject).flatMap(readBlock)
  if (!isObject(toolUse)) return []
  const { toolUseId, name, input } = toolUse
  const given = JSON.stringify(input ?? {})
  return [{ type: 'tool_call', id: asText(toolUseId), name: asText(name), arguments: given, signature: null }]
}

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
export const readConverseReply = (_target: Target, json: JsonObject): Reply | AnswerFault => {
  const { output, stopReason, usage, serviceTier } = json
  const { content } = asObject(asObject(output)['message'])
  if (!Array.isArray(content)) return { fault: 'no_content' }
  return {
    id: '',
    parts: content.filter(isObject).flatMap(readBlock),
    stop: converseStopReason(stopReason),
    stopSequence: null,
    usage: readConverseUsage(usage, serviceTier),
  }
}
