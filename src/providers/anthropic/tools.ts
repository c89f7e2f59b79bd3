import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import type { PriceSheet } from '../../events/types.ts'
import { unsupported } from '../canonical/refuse.ts'
import { shortened } from './present.ts'

/** The caller runs these: they cost their tokens alone. A new version of one has a new date; anything else is a tool that we do not know. */
const callersTypes = /^(?:custom|(?:bash|text_editor|computer|computer_toolset|browser_toolset|memory)_\d{8})$/

/** The provider runs these, or a server of the caller's does, and what they find is billed as tokens. Read 2026-11. */
const freeTypes = /^(?:web_fetch_\d{8}|tool_search_tool_(?:bm25|regex)(?:_\d{8})?|mcp_toolset)$/

const searchType = /^web_search_\d{8}$/

/** A tool without a type is the caller's own; what is no text is no type. */
const typeOf = ({ type }: JsonObject): string => {
  if (type === undefined || type === null) return 'custom'
  return typeof type === 'string' ? type : ''
}

const refuseUnpricedTool = (tool: JsonObject, path: string, { per_call: prices }: PriceSheet): void => {
  const type = typeOf(tool)
  if (callersTypes.test(type) || freeTypes.test(type)) return
  if (!searchType.test(type)) throw unsupported(`${path}.type`, `'${shortened(type)}' is not available`)
  if (prices?.['web_search'] === undefined)
    throw unsupported(`${path}.type`, `'${shortened(type)}' has no published price for this model`)
}

/** What a request is reserved for is told by its `tools`: a tool that is added later may cost nothing. */
const refuseAddition = (block: JsonObject, path: string): void => {
  const definition = asObject(block['tool'])['definition']
  if (isObject(definition) && !callersTypes.test(typeOf(definition)))
    throw unsupported(`${path}.tool.definition.type`, `'${shortened(typeOf(definition))}' belongs into tools`)
}

/** A compacted conversation repeats the additions that were made in it. */
const refuseAdditionsIn = (block: JsonObject, path: string): void => {
  refuseAddition(block, path)
  for (const [index, change] of asArray(block['tool_changes']).entries())
    if (isObject(change)) refuseAddition(change, `${path}.tool_changes[${index}]`)
}

/**
 * Throws `unsupported_parameter` with the path of the first tool that may cost money which the price sheet does not tell: any that is
 * not known to cost its tokens alone.
 */
export const refuseUnpricedMessagesTools = ({ tools, messages }: JsonObject, sheet: PriceSheet): void => {
  for (const [index, tool] of asArray(tools).entries()) refuseUnpricedTool(asObject(tool), `tools[${index}]`, sheet)
  for (const [index, message] of asArray(messages).entries())
    for (const [place, block] of asArray(asObject(message)['content']).entries())
      if (isObject(block)) refuseAdditionsIn(block, `messages[${index}].content[${place}]`)
}
