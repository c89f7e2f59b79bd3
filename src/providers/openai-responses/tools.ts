import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { PriceSheet } from '../../events/types.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { providerLimits } from '../dialect/limits.ts'
import type { Profile } from '../dialect/provider.ts'
import { imageCallType, imageInputItems, imageInputMax, imageItems, priceableImageTool } from './image-tool.ts'

export interface BilledTool {
  readonly itemType: string
  /** One item of the price sheet, or several by how the call turns out, the most expensive last. */
  readonly items: readonly string[]
  readonly reads: readonly string[]
}

interface Declared {
  readonly tool: JsonObject
  /** `tools[2]` */
  readonly path: string
}

/** The published price is that of the smallest container. */
const containerItems = ({ container }: JsonObject): readonly string[] => {
  const memory = asObject(container)['memory_limit'] ?? '1g'
  return [memory === '1g' ? 'code_interpreter' : `code_interpreter_${memory}`]
}

const billedTypes: readonly (readonly [RegExp, itemType: string, items: (tool: JsonObject) => readonly string[]])[] = [
  [/^web_search_preview(?:_\d{4}_\d{2}_\d{2})?$/, 'web_search_call', () => ['web_search_preview']],
  [/^web_search(?:_\d{4}_\d{2}_\d{2})?$/, 'web_search_call', () => ['web_search']],
  [/^(?:file|collections)_search$/, 'file_search_call', () => ['file_search']],
  [/^x_search$/, 'x_search_call', () => ['x_search']],
  [/^code_(?:interpreter|execution)$/, 'code_interpreter_call', containerItems],
  [/^image_generation$/, imageCallType, imageItems],
]

export const billedTool = (tool: JsonObject): BilledTool | null => {
  const type = asText(tool['type'])
  const [, itemType, items] = billedTypes.find(([pattern]) => pattern.test(type)) ?? []
  if (itemType === undefined || items === undefined) return null
  return { itemType, items: items(tool), reads: itemType === imageCallType ? imageInputItems(tool) : [] }
}

/** Run by the caller, or by a server of the caller's; their results are billed as tokens. */
const freeTypes = /^(?:function|custom|namespace|tool_search|mcp|local_shell|apply_patch|computer(?:_use\w*)?)$/

/** A shell runs at the caller's, or in a container of the provider, which costs money. */
const isFree = (tool: JsonObject): boolean =>
  freeTypes.test(asText(tool['type'])) ||
  (tool['type'] === 'shell' && asObject(tool['environment'])['type'] === 'local')

export const billedToolsOf = ({ tools }: JsonObject): readonly BilledTool[] =>
  asArray(tools)
    .map((tool) => billedTool(asObject(tool)))
    .filter((tool) => tool !== null)

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
  throw new GatewayError('unsupported_parameter', `The tool \`${asText(tool['type'])}\` ${why}.`, {
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

export const hasFiles = ({ input }: JsonObject): boolean =>
  asArray(input)
    .flatMap((item) => asArray(asObject(item)['content']))
    .some((part) => asObject(part)['type'] === 'input_file')

/** xAI searches attached files by itself. */
const refuseUnpricedFiles = (sheet: PriceSheet, body: JsonObject): void => {
  if (hasFiles(body) && !isPriced(sheet, ['document_search']))
    throw new GatewayError('unsupported_parameter', 'Files have no published price for this model.', { param: 'input' })
}

/** Throws `unsupported_parameter` with the tool's path where a tool may cost money that the sheet has no price for. */
export const refuseUnpricedResponsesTools = (sheet: PriceSheet, profile: Profile, body: JsonObject): void => {
  const known = new Map<string, string>()
  for (const [index, value] of asArray(body['tools']).entries()) {
    const declared = { tool: asObject(value), path: `tools[${index}]` }
    const billed = billedTool(declared.tool)
    if (billed === null ? !isFree(declared.tool) : !isPriced(sheet, [...billed.items, ...billed.reads]))
      refuse(declared, 'has no published price for this model and these settings')
    if (billed !== null) refuseUnlike(billed, declared, known)
  }
  for (const declared of nestedTools(body)) if (!isFree(declared.tool)) refuse(declared, 'must be in `tools`')
  if (profile === 'xai') refuseUnpricedFiles(sheet, body)
}

export const priceableTools = (tools: unknown): unknown =>
  Array.isArray(tools)
    ? tools.map((tool) => (isObject(tool) && tool['type'] === 'image_generation' ? priceableImageTool(tool) : tool))
    : tools

const callsMax: { readonly [itemType: string]: number } = {
  web_search_call: sharedLimits.webSearchesMax,
  file_search_call: providerLimits.fileSearchesMax,
  x_search_call: providerLimits.xSearchesMax,
  code_interpreter_call: providerLimits.codeRunsMax,
  [imageCallType]: providerLimits.generatedImagesMax,
}

/** How often a tool can be called: a `max_tool_calls` that the provider may not obey can only raise the bound. */
const mostOf = ({ max_tool_calls: given }: JsonObject, isObeyed: boolean, limit: number): number => {
  if (typeof given !== 'number') return limit
  const most = Math.min(given, Number.MAX_SAFE_INTEGER)
  return isObeyed ? most : Math.max(most, limit)
}

/** `isObeyed`: the provider keeps to `max_tool_calls`. OpenAI documents that it does, xAI does not. */
export const toolCallsMaxOf = (body: JsonObject, isObeyed: boolean): { readonly [item: string]: number } => {
  const most = (limit: number): number => mostOf(body, isObeyed, limit)
  const declared = billedToolsOf(body).map(
    ({ itemType, items }) => [items.at(-1) ?? itemType, most(callsMax[itemType] ?? 0)] as const,
  )
  const searched = hasFiles(body) ? { document_search: most(providerLimits.fileSearchesMax) } : {}
  return {
    ...searched,
    ...Object.fromEntries(declared),
    ...imageInputMax(body, most(providerLimits.generatedImagesMax)),
  }
}
