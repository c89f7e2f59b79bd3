import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import { redactedData, signatureOf } from '../answers/signature.ts'
import { assertMessagesMembers, refuseMessages, refuseTag } from './refusing.ts'

export interface Placed {
  readonly path: string
  readonly block: JsonObject
}

const userTypes = ['text', 'image', 'document', 'search_result', 'tool_result', 'container_upload']
const assistantTypes = [
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
]

const members: { readonly [type: string]: readonly string[] } = {
  text: ['type', 'text', 'citations', 'cache_control'],
  image: ['type', 'source', 'cache_control'],
  document: ['type', 'source', 'title', 'context', 'citations', 'cache_control'],
  tool_use: ['type', 'id', 'name', 'input', 'caller', 'toolset_name', 'cache_control'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
}

const idPattern = /^[a-zA-Z0-9_-]+$/
const toolNamePattern = /^[a-zA-Z0-9_-]{1,200}$/

const assertText = ({ block, path }: Placed): void => {
  const { text } = block
  if (typeof text !== 'string') throw refuseMessages(`${path}.text`, 'Input should be a valid string')
  if (text === '') throw refuseMessages('messages', 'text content blocks must be non-empty')
  if (text.trim() === '') throw refuseMessages('messages', 'text content blocks must contain non-whitespace text')
}

const assertToolUse = ({ block, path }: Placed): void => {
  if (!idPattern.test(asText(block['id'])))
    throw refuseMessages(`${path}.id`, "String should match pattern '^[a-zA-Z0-9_-]+$'")
  if (!toolNamePattern.test(asText(block['name'])))
    throw refuseMessages(`${path}.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,200}$'")
  if (!isObject(block['input'])) throw refuseMessages(`${path}.input`, 'Input should be a valid dictionary')
}

const resultTypes = ['text', 'image', 'document', 'search_result', 'tool_reference']

const assertToolResult = ({ block, path }: Placed): void => {
  if (typeof block['tool_use_id'] !== 'string') throw refuseMessages(`${path}.tool_use_id`, 'Field required')
  for (const [index, each] of asArray(block['content']).entries()) {
    const inner = { block: asObject(each), path: `${path}.content.${index}` }
    assertTag(inner, resultTypes)
    assertBlock(inner)
  }
}

const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const sourceTypes = ['base64', 'url', 'text', 'content', 'file']

const assertSource = ({ block, path }: Placed): void => {
  const source = asObject(block['source'])
  const type = asText(source['type'])
  if (!sourceTypes.includes(type)) throw refuseTag(`${path}.source`, type, sourceTypes)
  if (type === 'url' && !/^https?:\/\//.test(asText(source['url'])))
    throw refuseMessages(`${path}.source.url`, 'Only HTTP(S) URLs are supported')
  if (type === 'base64' && !/^[A-Za-z0-9+/]+={0,2}$/.test(asText(source['data'])))
    throw refuseMessages(`${path}.source.base64`, 'invalid base64 data')
  if (type === 'base64' && block['type'] === 'image' && !imageTypes.includes(asText(source['media_type'])))
    throw refuseMessages(`${path}.source.base64.media_type`, `Input should be ${imageTypes.join(', ')}`)
}

const assertThinking = ({ block, path }: Placed): void => {
  if (block['signature'] !== signatureOf(asText(block['thinking'])))
    throw refuseMessages(path, 'Invalid `signature` in `thinking` block')
}

const assertRedacted = ({ block, path }: Placed): void => {
  if (block['data'] !== redactedData) throw refuseMessages(path, 'Invalid `data` in `redacted_thinking` block')
}

const rules: { readonly [type: string]: (placed: Placed) => void } = {
  text: assertText,
  image: assertSource,
  document: assertSource,
  tool_use: assertToolUse,
  tool_result: assertToolResult,
  thinking: assertThinking,
  redacted_thinking: assertRedacted,
}

const assertTag = ({ block, path }: Placed, expected: readonly string[]): void => {
  const type = asText(block['type'])
  if (!expected.includes(type)) throw refuseTag(path, type, expected)
}

const assertBlock = (placed: Placed): void => {
  const type = asText(placed.block['type'])
  assertMessagesMembers(placed.block, members[type] ?? Object.keys(placed.block), `${placed.path}.${type}`)
  rules[type]?.(placed)
}

export const assertBlockOf = (role: string, placed: Placed): void => {
  assertTag(placed, [...new Set([...userTypes, ...assistantTypes])])
  const type = asText(placed.block['type'])
  const allowed = role === 'user' ? userTypes : assistantTypes
  if (!allowed.includes(type))
    throw refuseMessages(
      placed.path,
      `\`${type}\` blocks can only be in \`${role === 'user' ? 'assistant' : 'user'}\` messages`,
    )
  assertBlock(placed)
}
