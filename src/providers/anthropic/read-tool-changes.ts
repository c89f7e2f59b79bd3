import { asArray, asObject, asText, type JsonObject } from '../../encoding/json.ts'
import type { ToolDefinition } from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'
import { isCompaction } from './compaction.ts'
import { shortened } from './present.ts'
import { readTool } from './read-tools.ts'

export const toolChangeTypes: readonly unknown[] = ['tool_addition', 'tool_removal']

interface Change {
  readonly block: JsonObject
  readonly path: string
}

const changesOfRange = ({ block, path }: Change): readonly Change[] =>
  asArray(block['tool_changes']).map((change, place) => ({
    block: asObject(change),
    path: `${path}.tool_changes[${place}]`,
  }))

const changesIn = (message: unknown, index: number): readonly Change[] => {
  const { role, content } = asObject(message)
  if (role !== 'system' && !asArray(content).some(isCompaction)) return []
  return asArray(content)
    .map((block, place) => ({ block: asObject(block), path: `messages[${index}].content[${place}]` }))
    .flatMap((change) => (isCompaction(change.block) ? changesOfRange(change) : role === 'system' ? [change] : []))
    .filter(({ block }) => toolChangeTypes.includes(block['type']))
}

const readDefinition = (definition: JsonObject, path: string): ToolDefinition => {
  const type = definition['type'] ?? 'custom'
  if (type === 'custom') return readTool(definition, path)
  throw unsupported(`${path}.type`, `'${shortened(type)}' is not available for this model`)
}

const addedBy = ({ block, path }: Change, known: ReadonlyMap<string, ToolDefinition>): ToolDefinition | undefined => {
  const { type, name, definition } = asObject(block['tool'])
  if (type === 'tool_definition') return readDefinition(asObject(definition), `${path}.tool.definition`)
  if (type === 'tool_reference') return known.get(asText(name))
  throw unsupported(`${path}.tool.type`, `'${shortened(type)}' is not available for this model`)
}

/** The tools that are left after all changes in the conversation: other formats have one list for a whole request. */
export const changedTools = (
  declared: readonly ToolDefinition[],
  messages: readonly unknown[],
): readonly ToolDefinition[] => {
  const changes = messages.flatMap(changesIn)
  if (changes.length === 0) return declared
  const known = new Map(declared.map((tool) => [tool.name, tool]))
  const offered = new Map(known)
  for (const change of changes) {
    const { type, tool } = change.block
    const added = type === 'tool_addition' ? addedBy(change, known) : undefined
    if (type === 'tool_removal') offered.delete(asText(asObject(tool)['name']))
    if (added === undefined) continue
    known.set(added.name, added)
    offered.set(added.name, added)
  }
  return [...offered.values()]
}
