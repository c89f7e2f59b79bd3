import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import type { PriceSheet } from '../../events/types.ts'
import { unsupported } from '../canonical/refuse.ts'
import { shortened } from './present.ts'

/** The caller runs these: they cost only tokens. A new version has a new date; any other type is an unknown tool. */
const callersTypes = /^(?:custom|(?:bash|text_editor|computer|computer_toolset|browser_toolset|memory)_\d{8})$/

/** Run by the provider, or by a server of the caller's, with results billed as tokens. Read 2026-11. */
const freeTypes = /^(?:web_fetch_\d{8}|tool_search_tool_(?:bm25|regex)(?:_\d{8})?|mcp_toolset)$/

const searchType = /^web_search_\d{8}$/

/** A tool without a type, or with one that is no text, is the caller's own. */
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

/** The reservation covers the request's `tools`: a tool that is added later may cost nothing. */
const refuseAddition = (block: JsonObject, path: string): void => {
  const definition = asObject(block['tool'])['definition']
  if (isObject(definition) && !callersTypes.test(typeOf(definition)))
    throw unsupported(`${path}.tool.definition.type`, `'${shortened(typeOf(definition))}' must be in tools`)
}

/** A compacted conversation repeats the additions that were made in it. */
const refuseAdditionsIn = (block: JsonObject, path: string): void => {
  refuseAddition(block, path)
  for (const [index, change] of asArray(block['tool_changes']).entries())
    if (isObject(change)) refuseAddition(change, `${path}.tool_changes[${index}]`)
}

/** Throws `unsupported_parameter` for the first tool that is not known to cost only its tokens. */
export const refuseUnpricedMessagesTools = ({ tools, messages }: JsonObject, sheet: PriceSheet): void => {
  for (const [index, tool] of asArray(tools).entries()) refuseUnpricedTool(asObject(tool), `tools[${index}]`, sheet)
  for (const [index, message] of asArray(messages).entries())
    for (const [place, block] of asArray(asObject(message)['content']).entries())
      if (isObject(block)) refuseAdditionsIn(block, `messages[${index}].content[${place}]`)
}
