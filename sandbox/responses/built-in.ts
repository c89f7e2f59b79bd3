import { asArray, asObject, asText, isObject, type JsonObject } from '../../src/encoding/json.ts'
import type { Directives } from '../answers/directives.ts'

export interface BuiltInCalls {
  readonly searches: number
  readonly failedSearches: number
  readonly pagesOpened: number
  readonly xSearches: number
  readonly fileSearches: number
  readonly codeCalls: number
  readonly containers: number
  readonly images: number
  readonly imageTool: JsonObject
  readonly codeTool: JsonObject
}

export const noBuiltInCalls: BuiltInCalls = {
  searches: 0,
  failedSearches: 0,
  pagesOpened: 0,
  xSearches: 0,
  fileSearches: 0,
  codeCalls: 0,
  containers: 1,
  images: 0,
  imageTool: {},
  codeTool: {},
}

const isKind = (type: string, kind: string): boolean => type === kind || type.startsWith(`${kind}_`)

const kinds = {
  search: ['web_search'],
  xSearch: ['x_search'],
  fileSearch: ['file_search', 'collections_search'],
  code: ['code_interpreter', 'code_execution'],
  image: ['image_generation'],
} as const

type Declared = { readonly [K in keyof typeof kinds]: JsonObject | undefined }

const declaredIn = (tools: readonly JsonObject[]): Declared => {
  const find = (kind: keyof typeof kinds): JsonObject | undefined =>
    tools.find((tool) => kinds[kind].some((each) => isKind(asText(tool['type']), each)))
  return {
    search: find('search'),
    xSearch: find('xSearch'),
    fileSearch: find('fileSearch'),
    code: find('code'),
    image: find('image'),
  }
}

/** A choice of one tool, or of some, leaves the others out. */
const usable = (body: JsonObject): readonly JsonObject[] => {
  const choice = body['tool_choice']
  const tools = asArray(body['tools']).map(asObject)
  if (choice === 'none') return []
  if (!isObject(choice)) return tools
  const chosen = choice['type'] === 'allowed_tools' ? asArray(choice['tools']).map(asObject) : [choice]
  return tools.filter((tool) => chosen.some(({ type }) => type === tool['type']))
}

/** Each declared tool is called once, or as often as its directive sets, until `max_tool_calls` is reached. */
export const builtInCallsOf = (body: JsonObject, directives: Directives): BuiltInCalls => {
  const declared = declaredIn(usable(body))
  let left = typeof body['max_tool_calls'] === 'number' ? body['max_tool_calls'] : Number.POSITIVE_INFINITY
  const take = (tool: JsonObject | undefined, count: number): number => {
    const taken = tool === undefined ? 0 : Math.min(left, count)
    left -= taken
    return taken
  }
  return {
    searches: take(declared.search, directives.searches ?? 1),
    failedSearches: take(declared.search, directives.failed_searches ?? 0),
    pagesOpened: take(declared.search, directives.pages_opened ?? 0),
    xSearches: take(declared.xSearch, directives.x_searches ?? 1),
    fileSearches: take(declared.fileSearch, directives.file_searches ?? 1),
    codeCalls: take(declared.code, directives.code_calls ?? directives.containers ?? 1),
    containers: directives.containers ?? 1,
    images: take(declared.image, directives.images ?? 1),
    imageTool: declared.image ?? {},
    codeTool: declared.code ?? {},
  }
}
