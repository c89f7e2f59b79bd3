import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { providerLimits } from '../dialect/limits.ts'
import { imageCallType, imageInputItems, imageInputMax, imageItems, priceableImageTool } from './image-tool.ts'

export interface BilledTool {
  readonly itemType: string
  /** One item of the price sheet, or several by how the call turns out, the most expensive last. */
  readonly items: readonly string[]
  readonly reads: readonly string[]
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

/** Throws `invalid_value` for more than any request has: one image tool alone has the names of twenty prices. */
export const billedToolsOf = ({ tools }: JsonObject): readonly BilledTool[] => {
  const billed: BilledTool[] = []
  for (const tool of asArray(tools)) {
    const each = billedTool(asObject(tool))
    if (each === null) continue
    if (billed.length === providerLimits.billedToolsMax)
      throw invalidValue('tools', `more than ${providerLimits.billedToolsMax} of them are run by the provider`)
    billed.push(each)
  }
  return billed
}

export const hasFiles = ({ input }: JsonObject): boolean =>
  asArray(input)
    .flatMap((item) => asArray(asObject(item)['content']))
    .some((part) => asObject(part)['type'] === 'input_file')

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
