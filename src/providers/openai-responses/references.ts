import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { refuseProviderState } from '../canonical/refuse.ts'
import { reasoningTextOf } from './delivered.ts'
import { inlineIdsOf, namesContainer } from './input-ids.ts'

/** The paths of what a request names of the account. Copied at each level that tools nest, so only findings. */
type Found = readonly string[]

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

const foundIf = (isFound: boolean, path: string): Found => (isFound ? [path] : [])

const given = (value: unknown, path: string): Found => foundIf(isGiven(value), path)

const isItemReference = ({ type, role, id }: JsonObject): boolean =>
  type === 'item_reference' || (!isGiven(type) && !isGiven(role) && isGiven(id))

/** Items that refer to something stored unless they contain it: the provider looks it up by their id. */
const holdsItself: ReadonlyMap<unknown, (item: JsonObject) => boolean> = new Map([
  ['image_generation_call', ({ result }) => asText(result) !== ''],
  ['reasoning', (item) => asText(item['encrypted_content']) !== '' || reasoningTextOf(item) !== ''],
  ['compaction', ({ encrypted_content }) => asText(encrypted_content) !== ''],
])

const isMereReference = (item: JsonObject): boolean =>
  isItemReference(item) || (isGiven(item['id']) && holdsItself.get(item['type'])?.(item) === false)

const filesOf = (parts: unknown, path: string): Found =>
  asArray(parts).flatMap((part, index) => given(asObject(part)['file_id'], `${path}[${index}].file_id`))

const inItem = (item: JsonObject, path: string): Found => [
  ...foundIf(isMereReference(item), path),
  ...foundIf(namesContainer(item) && asText(item['code']) === '', `${path}.container_id`),
  ...given(asObject(item['environment'])['container_id'], `${path}.environment.container_id`),
  ...filesOf(item['content'], `${path}.content`),
  ...filesOf(item['output'], `${path}.output`),
  ...given(asObject(item['output'])['file_id'], `${path}.output.file_id`),
  ...inTools(item['tools'], `${path}.tools`),
]

const inContainer = (container: unknown, path: string): Found => {
  if (typeof container === 'string') return [path]
  return foundIf(asArray(asObject(container)['file_ids']).length > 0, `${path}.file_ids`)
}

const storeTools: readonly unknown[] = ['file_search', 'collections_search']

const inTool = (tool: JsonObject, path: string): Found => [
  ...foundIf(storeTools.includes(tool['type']), `${path}.type`),
  ...inContainer(tool['container'], `${path}.container`),
  ...given(tool['tunnel_id'], `${path}.tunnel_id`),
  ...given(asObject(tool['input_image_mask'])['file_id'], `${path}.input_image_mask.file_id`),
]

const inEach = (values: unknown, path: string, look: (value: JsonObject, path: string) => Found): Found =>
  asArray(values).flatMap((value, index) => (isObject(value) ? look(value, `${path}[${index}]`) : []))

const inTools = (tools: unknown, path: string): Found =>
  inEach(tools, path, (tool, toolPath) => [...inTool(tool, toolPath), ...inTools(tool['tools'], `${toolPath}.tools`)])

const inApprovals = ({ input, previous_response_id: previous }: JsonObject): Found => {
  if (typeof previous === 'string') return []
  const inlineIds = inlineIdsOf(input)
  return inEach(input, 'input', ({ type, approval_request_id: id }, path) =>
    foundIf(type === 'mcp_approval_response' && !inlineIds.has(id), `${path}.approval_request_id`),
  )
}

/** Every workspace shares the account, and what it keeps has no known owner. For an item's id see `detachedInput`. */
export const refuseResponsesAccountReferences = (body: JsonObject): void => {
  const { conversation, prompt, input, tools } = body
  const [param] = [
    ...given(conversation, 'conversation'),
    ...given(prompt, 'prompt'),
    ...inEach(input, 'input', inItem),
    ...inTools(tools, 'tools'),
    ...inApprovals(body),
  ]
  if (param !== undefined) throw refuseProviderState(param)
}

/** Only the owner of a stored answer may continue it. Throws as `refuseResponsesAccountReferences` does. */
export const referencedResponseOf = (body: JsonObject): string | null => {
  refuseResponsesAccountReferences(body)
  const named = body['previous_response_id']
  return typeof named === 'string' ? named : null
}
