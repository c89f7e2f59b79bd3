import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { GatewayError, truncateName } from '../../errors/gateway-error.ts'
import type { PriceSheet } from '../../events/types.ts'
import type { Profile } from '../dialect/provider.ts'
import { type BilledTool, billedTool, hasFiles } from './tools.ts'

interface Declared {
  readonly tool: JsonObject
  /** `tools[2]` */
  readonly path: string
}

/** Run by the caller, or by a server of the caller's; their results are billed as tokens. */
const freeTypes = /^(?:function|custom|namespace|tool_search|mcp|local_shell|apply_patch|computer(?:_use\w{0,32})?)$/

/** A shell runs at the caller's, or in a container of the provider, which costs money. */
const isFree = (tool: JsonObject): boolean =>
  freeTypes.test(asText(tool['type'])) ||
  (tool['type'] === 'shell' && asObject(tool['environment'])['type'] === 'local')

/** Into one list: one of each level would copy those below it. */
const declaredIn = (tools: unknown, path: string, declared: Declared[] = []): readonly Declared[] => {
  for (const [index, value] of asArray(tools).entries()) {
    const own = { tool: asObject(value), path: `${path}[${index}]` }
    declared.push(own)
    declaredIn(own.tool['tools'], `${own.path}.tools`, declared)
  }
  return declared
}

const declaringItems: readonly unknown[] = ['additional_tools', 'tool_search_output']

/** Tools below the top level: they outlive the request in a stored answer, so none may cost money. */
const nestedTools = ({ tools, input }: JsonObject): readonly Declared[] => [
  ...asArray(tools).flatMap((tool, index) => declaredIn(asObject(tool)['tools'], `tools[${index}].tools`)),
  ...asArray(input).flatMap((item, index) =>
    isObject(item) && declaringItems.includes(item['type']) ? declaredIn(item['tools'], `input[${index}].tools`) : [],
  ),
]

const refuse = ({ tool, path }: Declared, why: string): never => {
  throw new GatewayError('unsupported_parameter', `The tool \`${truncateName(asText(tool['type']))}\` ${why}.`, {
    param: `${path}.type`,
  })
}

const isPriced = (sheet: PriceSheet, items: readonly string[]): boolean =>
  items.every((item) => sheet.per_call !== undefined && Object.hasOwn(sheet.per_call, item))

/** Two tools whose calls are alike in the answer must be billed alike. */
const refuseUnlike = (billed: BilledTool, declared: Declared, known: Map<string, string>): void => {
  const items = billed.items.join()
  if ((known.get(billed.itemType) ?? items) !== items)
    refuse(declared, 'cannot be distinguished from another tool of the request in the answer')
  known.set(billed.itemType, items)
}

/** xAI searches attached files by itself. */
const refuseUnpricedFiles = (sheet: PriceSheet, body: JsonObject): void => {
  if (hasFiles(body) && !isPriced(sheet, ['document_search']))
    throw new GatewayError('unsupported_parameter', 'Files have no published price for this model.', { param: 'input' })
}

/** A call that no sheet has a price for, or that we know nothing of. */
const isUnpriced = (sheet: PriceSheet, tool: JsonObject): boolean => {
  const billed = billedTool(tool)
  return billed === null ? !isFree(tool) : !isPriced(sheet, [...billed.items, ...billed.reads])
}

const typeOf = (tool: unknown): unknown => asObject(tool)['type']

const typesDropped = (tools: readonly unknown[], kept: readonly unknown[]): ReadonlySet<unknown> => {
  const dropped = new Set(tools.map(typeOf))
  for (const tool of kept) dropped.delete(typeOf(tool))
  return dropped
}

const keptOf = (sheet: PriceSheet, tools: readonly unknown[]): readonly unknown[] =>
  tools.filter((tool) => !isUnpriced(sheet, asObject(tool)))

const isAllowedTools = (choice: JsonObject): boolean => choice['type'] === 'allowed_tools'

/** Whether one of the type must be called, or one of several without a price. Once for all tools: there may be thousands. */
const findDemands = (body: JsonObject, kept: readonly unknown[]): ((type: unknown) => boolean) => {
  const { tool_choice } = body
  const tools = asArray(body['tools'])
  const choice = asObject(tool_choice)
  const isRequired = tool_choice === 'required' || choice['mode'] === 'required'
  const dropped = isRequired && isAllowedTools(choice) ? typesDropped(tools, kept) : null
  const needsUnpriced =
    dropped === null
      ? isRequired && kept.length === 0
      : asArray(choice['tools']).every((tool) => dropped.has(typeOf(tool)))
  return (type) => needsUnpriced || choice['type'] === type
}

/**
 * Throws `unsupported_parameter` with the tool's path where one that the sheet has no price for must be called, where two
 * cannot be billed apart, or where one below the top level may cost money.
 */
export const refuseUnpricedResponsesTools = (sheet: PriceSheet, profile: Profile, body: JsonObject): void => {
  const tools = asArray(body['tools'])
  const kept = keptOf(sheet, tools)
  const priced = new Set(kept)
  const isDemanded = findDemands(body, kept)
  const known = new Map<string, string>()
  for (const [index, value] of tools.entries()) {
    const declared = { tool: asObject(value), path: `tools[${index}]` }
    if (!priced.has(value)) {
      if (isDemanded(declared.tool['type']))
        refuse(declared, 'has no published price for this model and these settings')
      continue
    }
    const billed = billedTool(declared.tool)
    if (billed !== null) refuseUnlike(billed, declared, known)
  }
  for (const declared of nestedTools(body)) if (!isFree(declared.tool)) refuse(declared, 'must be in `tools`')
  if (profile === 'xai') refuseUnpricedFiles(sheet, body)
}

const withoutDropped = (choice: unknown, dropped: ReadonlySet<unknown>): unknown => {
  if (!isObject(choice) || !isAllowedTools(choice)) return choice
  const allowed = asArray(choice['tools']).filter((tool) => !dropped.has(typeOf(tool)))
  return allowed.length === 0 ? 'none' : { ...choice, tools: allowed }
}

/** The model answers without a tool that is merely offered. The same object where all have a price. */
export const withoutUnpricedResponsesTools = (sheet: PriceSheet, body: JsonObject): JsonObject => {
  const tools = asArray(body['tools'])
  const kept = keptOf(sheet, tools)
  if (kept.length === tools.length) return body
  const { tools: _all, tool_choice: choice, ...rest } = body
  if (kept.length === 0) return rest
  const left = choice === undefined ? {} : { tool_choice: withoutDropped(choice, typesDropped(tools, kept)) }
  return { ...rest, tools: kept, ...left }
}
