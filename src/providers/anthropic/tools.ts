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

/** Run by the provider, at a price that sheets lack. */
const unpricedTypes = /^(?:code_execution|advisor)_\d{8}$/

const isUnpriced = (tool: unknown, { per_call: prices }: PriceSheet): boolean => {
  const type = typeOf(asObject(tool))
  return unpricedTypes.test(type) || (searchType.test(type) && prices?.['web_search'] === undefined)
}

/** Once for all tools: there may be thousands. */
const findDemands = ({ tool_choice, tools }: JsonObject, sheet: PriceSheet): ((tool: JsonObject) => boolean) => {
  const choice = asObject(tool_choice)
  const hasNonePriced = choice['type'] === 'any' && asArray(tools).every((each) => isUnpriced(each, sheet))
  return ({ name }) => hasNonePriced || (choice['type'] === 'tool' && choice['name'] === name)
}

const refuseUnpricedTools = (body: JsonObject, sheet: PriceSheet): void => {
  const isDemanded = findDemands(body, sheet)
  for (const [index, each] of asArray(body['tools']).entries()) {
    const tool = asObject(each)
    const type = typeOf(tool)
    const path = `tools[${index}].type`
    if (isUnpriced(tool, sheet)) {
      if (isDemanded(tool)) throw unsupported(path, `'${shortened(type)}' has no published price for this model`)
    } else if (!callersTypes.test(type) && !freeTypes.test(type) && !searchType.test(type))
      throw unsupported(path, `'${shortened(type)}' is not available`)
  }
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

/** Throws `unsupported_parameter` for the first tool that is unknown, or that must be called and has no price. */
export const refuseUnpricedMessagesTools = (body: JsonObject, sheet: PriceSheet): void => {
  refuseUnpricedTools(body, sheet)
  for (const [index, message] of asArray(body['messages']).entries())
    for (const [place, block] of asArray(asObject(message)['content']).entries())
      if (isObject(block)) refuseAdditionsIn(block, `messages[${index}].content[${place}]`)
}

/** The model answers without a tool that is merely offered. The same object where all have a price. */
export const withoutUnpricedMessagesTools = (body: JsonObject, sheet: PriceSheet): JsonObject => {
  const tools = asArray(body['tools'])
  const kept = tools.filter((tool) => !isUnpriced(tool, sheet))
  if (kept.length === tools.length) return body
  const { tools: _all, tool_choice: choice, ...rest } = body
  if (kept.length === 0) return rest
  return { ...rest, tools: kept, ...(choice === undefined ? {} : { tool_choice: choice }) }
}
