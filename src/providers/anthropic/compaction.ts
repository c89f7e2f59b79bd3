import { asArray, asObject, asText, type JsonObject } from '../../encoding/json.ts'

export const isCompaction = (block: unknown): block is JsonObject => asObject(block)['type'] === 'compaction'

/** A compaction that failed has no summary, and replaces nothing. */
const hasSummary = (block: unknown): boolean => isCompaction(block) && asText(block['content']) !== ''

interface PlacedMessage {
  readonly message: JsonObject
  readonly index: number
}

const splitAt = ({ message, index }: PlacedMessage, blocks: readonly unknown[]): readonly PlacedMessage[] => {
  const at = blocks.findLastIndex(hasSummary)
  const summary = [{ type: 'text', text: asText(asObject(blocks[at])['content']) }]
  const rest = blocks.slice(at + 1)
  const first = { message: { role: 'user', content: summary }, index }
  return rest.length === 0 ? [first] : [first, { message: { ...message, content: rest }, index }]
}

/** The messages that count: the last summary replaces all before it, as at the provider itself. */
export const compactedMessages = (messages: readonly unknown[]): readonly PlacedMessage[] => {
  const placed = messages.map((message, index) => ({ message: asObject(message), index }))
  const at = placed.findLastIndex(({ message }) => asArray(message['content']).some(hasSummary))
  const compacted = placed[at]
  if (compacted === undefined) return placed
  return [...splitAt(compacted, asArray(compacted.message['content'])), ...placed.slice(at + 1)]
}
