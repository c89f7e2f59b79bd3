import { asArray, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Citation, Reply, ReplyPart } from '../canonical/reply.ts'
import type { AnswerFault, Target } from '../dialect/dialect.ts'
import { readCitation } from './citation.ts'
import { countSearchCalls, isSearchResult } from './delivered.ts'
import { stopReason } from './stop-reason.ts'
import { readMessagesUsage } from './usage.ts'

export const bareId = (id: unknown): string => asText(id).replace(/^msg_/, '')

const readCitations = (value: unknown): readonly Citation[] =>
  asArray(value)
    .map(readCitation)
    .filter((citation) => citation !== null)

/** Blocks of the provider's own tools have no part: their cost is in the usage. */
const readBlock = (block: JsonObject): readonly ReplyPart[] => {
  switch (block['type']) {
    case 'text':
      return [{ type: 'text', text: asText(block['text']), citations: readCitations(block['citations']) }]
    case 'thinking':
      return [{ type: 'thinking', text: asText(block['thinking']), signature: asText(block['signature']) || null }]
    case 'redacted_thinking':
      return [{ type: 'redacted_thinking', data: asText(block['data']) }]
    case 'tool_use': {
      const { id, name, input } = block
      const given = JSON.stringify(input ?? {})
      return [{ type: 'tool_call', id: asText(id), name: asText(name), arguments: given, signature: null }]
    }
    default:
      return []
  }
}

export const readMessagesReply = (_target: Target, json: JsonObject): Reply | AnswerFault => {
  if (json['error'] || json['type'] === 'error') return { fault: 'error_in_answer' }
  const { id, content, stop_reason: word, stop_sequence: stopSequence, usage } = json
  if (!Array.isArray(content)) return { fault: 'no_content' }
  return {
    id: bareId(id),
    parts: content.filter(isObject).flatMap(readBlock),
    stop: stopReason(word),
    stopSequence: typeof stopSequence === 'string' ? stopSequence : null,
    usage: readMessagesUsage(usage),
    toolCalls: countSearchCalls(content.filter(isObject).filter(isSearchResult).length),
  }
}
