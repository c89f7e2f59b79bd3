import type { JsonObject } from '../../encoding/json.ts'
import { flatMapInSteps, mapInSteps, stepsOfEach } from '../../encoding/steps.ts'
import type { ConversationPart, ConversationTurn } from './conversation.ts'

export interface WrittenTurn {
  readonly role: 'user' | 'assistant'
  readonly content: readonly JsonObject[]
}

interface TurnWriter {
  readonly writePart: (part: ConversationPart) => readonly JsonObject[]
  /** Whether a block is the result of a call: these come first in their turn. */
  readonly isResult: (block: JsonObject) => boolean
}

/** Instructions in between become user text, and turns of one role are merged. Throws what `writePart` throws. */
export function* mergeTurns(
  turns: readonly ConversationTurn[],
  { writePart, isResult }: TurnWriter,
): Generator<void, readonly WrittenTurn[]> {
  const merged: { readonly role: WrittenTurn['role']; readonly content: JsonObject[] }[] = []
  yield* stepsOfEach(turns, function* (turn) {
    const role = turn.role === 'assistant' ? 'assistant' : 'user'
    const content = yield* flatMapInSteps(turn.parts, writePart)
    if (content.length === 0) return
    const last = merged.at(-1)
    if (last?.role === role) for (const block of content) last.content.push(block)
    else merged.push({ role, content })
  })
  yield
  return yield* mapInSteps(merged, ({ role, content }) => ({
    role,
    content: [...content.filter(isResult), ...content.filter((block) => !isResult(block))],
  }))
}
