import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import { assertBlockOf, type Placed } from './blocks.ts'
import { assertMessagesMembers, refuseMessages } from './refusing.ts'

/** Consecutive messages of one role are one turn. */
interface Turn {
  readonly role: string
  readonly placed: readonly Placed[]
  readonly path: string
}

export const blocksOf = (content: unknown): readonly JsonObject[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : asArray(content).map(asObject)

const assertRole = (message: JsonObject, path: string): void => {
  const { role } = message
  if (role === 'system')
    throw refuseMessages(
      'messages',
      'Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    )
  if (role !== 'user' && role !== 'assistant')
    throw refuseMessages(
      `${path}.role`,
      `Input should be 'user' or 'assistant', but got ${JSON.stringify(role ?? null)}`,
    )
}

const assertContent = (message: JsonObject, path: string, isLast: boolean): void => {
  const { content } = message
  if (typeof content !== 'string' && !Array.isArray(content))
    throw refuseMessages(`${path}.content`, content === undefined ? 'Field required' : 'Input should be a valid list')
  if (content.length === 0 && !(isLast && message['role'] === 'assistant'))
    throw refuseMessages(
      path,
      'all messages must have non-empty content except for the optional final assistant message',
    )
}

const turnOf = (message: unknown, index: number, all: readonly unknown[]): Turn => {
  const path = `messages.${index}`
  if (!isObject(message)) throw refuseMessages(path, 'Input should be a valid dictionary')
  assertMessagesMembers(message, ['role', 'content'], path)
  assertRole(message, path)
  assertContent(message, path, index === all.length - 1)
  const role = asText(message['role'])
  const blocks = message['content'] === '' ? [] : blocksOf(message['content'])
  const placed = blocks.map((block, at) => ({ block, path: `${path}.content.${at}` }))
  for (const each of placed) assertBlockOf(role, each)
  return { role, placed, path }
}

const merged = (turns: readonly Turn[]): readonly Turn[] => {
  const whole: Turn[] = []
  for (const turn of turns) {
    const last = whole.at(-1)
    if (last?.role === turn.role) whole.splice(-1, 1, { ...last, placed: last.placed.concat(turn.placed) })
    else whole.push(turn)
  }
  return whole
}

const ofType = (turn: Turn | undefined, type: string): readonly Placed[] =>
  (turn?.placed ?? []).filter(({ block }) => block['type'] === type)

const idsOf = (turn: Turn | undefined): readonly unknown[] => ofType(turn, 'tool_use').map(({ block }) => block['id'])

const assertAnswered = (turn: Turn, next: Turn | undefined): void => {
  const answered = ofType(next, 'tool_result').map(({ block }) => block['tool_use_id'])
  const open = idsOf(turn).filter((id) => !answered.includes(id))
  if (open.length > 0)
    throw refuseMessages(
      turn.path,
      `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. ` +
        'Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    )
}

const assertAsked = (turn: Turn, before: Turn | undefined): void => {
  const asked = idsOf(before)
  const seen = new Set<unknown>()
  for (const { block, path } of ofType(turn, 'tool_result')) {
    const id = block['tool_use_id']
    if (!asked.includes(id))
      throw refuseMessages(
        path,
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
          'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
      )
    if (seen.has(id))
      throw refuseMessages(
        path,
        `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      )
    seen.add(id)
  }
}

/** Results come before all other blocks of their turn. */
const assertResultsFirst = ({ placed }: Turn): void => {
  const others = placed.findIndex(({ block }) => block['type'] !== 'tool_result')
  const late = placed.findLast(({ block }) => block['type'] === 'tool_result')
  if (others >= 0 && late !== undefined && placed.indexOf(late) > others)
    throw refuseMessages(late.path, '`tool_result` blocks must come before other content in the user message')
}

const assertPairs = (turns: readonly Turn[]): void => {
  for (const [index, turn] of turns.entries()) {
    if (turn.role === 'assistant') {
      assertAnswered(turn, turns[index + 1])
      continue
    }
    assertAsked(turn, turns[index - 1])
    assertResultsFirst(turn)
  }
}

const thinkingTypes: readonly unknown[] = ['thinking', 'redacted_thinking']

/** In a tool loop, a model that thinks by a budget needs its own thinking back. */
const assertThinkingFirst = (turns: readonly Turn[]): void => {
  const [before, last] = turns.slice(-2)
  if (ofType(last, 'tool_result').length === 0 || before === undefined) return
  const first = before.placed[0]
  if (first !== undefined && !thinkingTypes.includes(first.block['type']))
    throw refuseMessages(
      first.path,
      `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.block['type']}\`. When \`thinking\` is enabled, ` +
        'a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).',
    )
}

const assertEnd = (last: Turn | undefined): void => {
  const block = last?.role === 'assistant' ? last.placed.at(-1)?.block : undefined
  if (block?.['type'] === 'text' && /\s$/.test(asText(block['text'])))
    throw refuseMessages('messages', 'final assistant content cannot end with trailing whitespace')
}

/** They take instructions amid the conversation. Read 2026-11. */
const takesSystemTurns = /^claude-(?:fable-5|mythos-5|opus-4-8|opus-5|sonnet-5)/

export const assertMessages = ({ messages: given, model, thinking }: JsonObject): void => {
  const isTaken = (message: unknown): boolean =>
    asObject(message)['role'] === 'system' && takesSystemTurns.test(asText(model))
  const messages = Array.isArray(given) ? given.filter((message) => !isTaken(message)) : given
  if (!Array.isArray(messages))
    throw refuseMessages('messages', messages === undefined ? 'Field required' : 'Input should be a valid list')
  if (messages.length === 0) throw refuseMessages('messages', 'at least one message is required')
  const turns = merged(messages.map(turnOf))
  if (turns[0]?.role !== 'user') throw refuseMessages('messages', 'first message must use the "user" role')
  assertPairs(turns)
  assertEnd(turns.at(-1))
  if (asObject(thinking)['type'] === 'enabled') assertThinkingFirst(turns)
}
