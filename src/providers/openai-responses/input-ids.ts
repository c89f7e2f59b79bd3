import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { digestedId } from '../dialect/digested-id.ts'

/** Items whose type requires an id get a new one, unknown to the account. All others are sent without. */
const renamedTypes: readonly unknown[] = [
  'code_interpreter_call',
  'computer_call',
  'file_search_call',
  'image_generation_call',
  'local_shell_call',
  'mcp_approval_request',
  'mcp_call',
  'mcp_list_tools',
  'program',
  'program_output',
]

const links: ReadonlyMap<unknown, string> = new Map([
  ['local_shell_call_output', 'id'],
  ['mcp_approval_response', 'approval_request_id'],
  ['mcp_call', 'approval_request_id'],
])

/** Providers derive the kind of an item from the prefix before the first underscore. */
const renamed = (id: string): string => {
  const [kind = 'item'] = /^[a-z]{1,8}(?=_)/.exec(id) ?? []
  return digestedId(kind, id)
}

export const inlineIdsOf = (input: unknown): ReadonlySet<unknown> =>
  new Set(
    asArray(input)
      .map(asObject)
      .filter(({ type }) => renamedTypes.includes(type))
      .map(({ id }) => id),
  )

const withoutOwnId = ({ id, ...item }: JsonObject): JsonObject =>
  renamedTypes.includes(item['type']) && typeof id === 'string' ? { id: renamed(id), ...item } : item

const withLink = (item: JsonObject, original: JsonObject, inlineIds: ReadonlySet<unknown>): JsonObject => {
  const member = links.get(original['type'])
  if (member === undefined || typeof original[member] !== 'string') return item
  const id = original[member]
  if (inlineIds.has(id)) return { ...item, [member]: renamed(id) }
  // The others answer something in the previous response; a completed call needs no approval.
  return { ...item, [member]: item['type'] === 'mcp_call' ? null : id }
}

const citesFile = ({ file_id, container_id }: JsonObject): boolean => Boolean(file_id ?? container_id)

/** A citation of a file that the account keeps is of no use to the model. */
const withoutCitedFiles = (part: unknown): unknown => {
  if (!isObject(part) || !Array.isArray(part['annotations'])) return part
  return { ...part, annotations: part['annotations'].filter((annotation) => !citesFile(asObject(annotation))) }
}

const withoutFileId = (result: unknown): unknown => {
  if (!isObject(result)) return result
  const { file_id: _kept, ...rest } = result
  return rest
}

const withoutFiles = (item: JsonObject): JsonObject => ({
  ...item,
  ...(Array.isArray(item['content']) ? { content: item['content'].map(withoutCitedFiles) } : {}),
  ...(Array.isArray(item['results']) ? { results: item['results'].map(withoutFileId) } : {}),
})

export const namesContainer = ({ type, container_id }: JsonObject): boolean =>
  type === 'code_interpreter_call' && asText(container_id) !== ''

/** A run that names its container would continue in it, in whichever workspace it was made: only its text is sent. */
const runInWords = ({ code, outputs }: JsonObject): JsonObject => {
  const logs = asArray(outputs).map((output) => asText(asObject(output)['logs']))
  const text = ['Ran this code:', asText(code), ...(logs.length > 0 ? ['It wrote:', ...logs] : [])].join('\n')
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] }
}

const detached = (item: JsonObject, inlineIds: ReadonlySet<unknown>): JsonObject =>
  namesContainer(item) ? runInWords(item) : withLink(withoutFiles(withoutOwnId(item)), item, inlineIds)

/** A provider looks a given id up in the shared account and uses the stored item, whatever the item itself contains. */
export const detachedInput = (input: unknown): unknown => {
  if (!Array.isArray(input)) return input
  const inlineIds = inlineIdsOf(input)
  return input.map((item) => (isObject(item) ? detached(item, inlineIds) : item))
}
