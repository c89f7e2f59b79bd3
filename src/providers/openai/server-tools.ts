import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject } from '../../encoding/json.ts'
import { countOf } from '../dialect/count.ts'

/** xAI counts the successful calls of its tools in the usage, under these names. */
const serverTools = ['web_search', 'x_search', 'code_interpreter', 'file_search', 'document_search', 'image_generation']

export const serverToolCalls = ({ server_side_tool_usage_details: details }: JsonObject): Usage['toolCalls'] | null => {
  if (!isObject(details)) return null
  const counted = serverTools.map((tool) => [tool, countOf(details[`${tool}_calls`]) ?? 0] as const)
  return Object.fromEntries(counted.filter(([, calls]) => calls > 0))
}
