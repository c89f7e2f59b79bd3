import t from 'tap'
import { asObject, isObject, type JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import { messagesMembers } from '../../../src/providers/anthropic/allowed-members.ts'
import { checkMembers } from '../../../src/providers/canonical/allowed-members.ts'
import type { Provider } from '../../../src/providers/dialect/provider.ts'
import { chatMembers } from '../../../src/providers/openai/allowed-members.ts'
import { responsesMembers } from '../../../src/providers/openai-responses/allowed-members.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'
import { createProgram, type SdkRequest, sdkMembers } from './sdk-members.ts'

const shapes = { chat: chatMembers, messages: messagesMembers, responses: responsesMembers }

const provider: Provider = {
  name: 'openai',
  dialect: 'openai',
  profile: 'openai',
  baseUrl: 'https://api.alpha.example/v1',
  apiKey: 'k',
}

type Refusal = { readonly code: string; readonly param: string } | null

const refusalOf = (surface: SdkRequest, body: JsonObject, by = provider): Refusal => {
  try {
    finishSteps(checkMembers(shapes[surface], body, by))
    return null
  } catch (fault) {
    return fault as Refusal
  }
}

/** A body that has nothing but the member at the path, with a value. */
const bodyWith = (path: string, value: unknown): JsonObject => {
  let body: unknown = value
  for (const segment of path.slice(1).split('.').toReversed()) {
    const [, name = '', lists = '', tag] = /^([^[<]+)((?:\[\])*)(?:<(.+)>)?$/.exec(segment) ?? []
    if (tag !== undefined && isObject(body)) body = { type: tag, ...body }
    body = { [name]: lists === '' ? body : [body] }
  }
  return asObject(body)
}

type Decision = 'forwarded' | 'refused' | 'address'

const decide = (surface: SdkRequest, path: string): Decision => {
  if (refusalOf(surface, bodyWith(path, 'x')) !== null) return 'refused'
  return refusalOf(surface, bodyWith(path, 'gs://bucket/object')) === null ? 'forwarded' : 'address'
}

/** `…source.file_id`: types repeat each other at many places. */
const shortened = (path: string): string => path.replace(/^.*?((?:\.[^.]+)?\.[^.]+)$/, '$1').replaceAll('[]', '')

const program = createProgram()

/** Every member that the SDKs' types have, and that is not here, is forwarded whatever it holds. */
const decisions: {
  readonly [S in SdkRequest]: { readonly [D in Exclude<Decision, 'forwarded'>]: readonly string[] }
} = {
  chat: {
    refused: ['.audio.id', '.file.file_id', '.voice.id'],
    address: ['.audio.voice', '.content<image_url>.image_url', '.file.file_data', '.image_url.url'],
  },
  messages: {
    refused: [
      '.billing_policy',
      '.billing_policy.bill_to',
      '.billing_policy.type',
      '.container',
      '.container.id',
      '.container.skills',
      '.content<bash_code_execution_output>.file_id',
      '.content<code_execution_output>.file_id',
      '.content<container_upload>.file_id',
      '.diagnostics.previous_message_id',
      '.fallback_credit_token',
      '.fallback_credit_token.mode',
      '.fallback_credit_token.token',
      '.skills<anthropic>.skill_id',
      '.skills<anthropic>.type',
      '.skills<anthropic>.version',
      '.skills<custom>.skill_id',
      '.skills<custom>.type',
      '.skills<custom>.version',
      '.source.file_id',
    ],
    address: ['.mcp_servers<url>.url', '.source.url'],
  },
  // `previous_response_id` is decided by its owner: see referencedResponseOf.
  responses: {
    refused: [
      '.access_programs',
      '.access_programs.cyber',
      '.container.file_ids',
      '.content<input_file>.file_id',
      '.content<input_image>.file_id',
      '.conversation',
      '.conversation.id',
      '.environment.container_id',
      '.environment.file_ids',
      '.input_image_mask.file_id',
      '.output.file_id',
      '.output<input_file>.file_id',
      '.output<input_image>.file_id',
      '.prompt',
      '.prompt.id',
      '.prompt.variables',
      '.prompt.version',
      '.prompt_cache_options.comparison_response_id',
      '.skills<skill_reference>.skill_id',
      '.tools<code_interpreter>.container',
      '.tools<file_search>.vector_store_ids',
      '.tools<mcp>.connector_id',
      '.tools<mcp>.tunnel_id',
    ],
    address: [
      '.content<input_file>.file_data',
      '.content<input_file>.file_url',
      '.content<input_image>.image_url',
      '.input_image_mask.image_url',
      '.output.image_url',
      '.output<input_file>.file_data',
      '.output<input_file>.file_url',
      '.output<input_image>.image_url',
      '.tools<mcp>.server_url',
    ],
  },
}

for (const surface of ['chat', 'messages', 'responses'] as const)
  t.test(`what is decided of every member that the official SDK knows: ${surface}`, async (t) => {
    const members = sdkMembers(program, surface)
    t.ok(members.length > 140, `${members.length} members`)
    const decided = members.map((path) => [shortened(path), decide(surface, path)] as const)
    for (const decision of ['refused', 'address'] as const)
      t.strictSame(
        [...new Set(decided.filter(([, each]) => each === decision).map(([path]) => path))].toSorted(),
        decisions[surface][decision].toSorted(),
        decision,
      )
  })

t.test('what the SDKs’ types do not have', async (t) => {
  const plain: readonly JsonObject[] = [
    { top_a: 0.5 },
    { min_p: 0, repetition_penalty: 1.1, ignore_eos: true },
    { new_object: { a: [1], mode: 'fast', nested: [{ deep: true }] } },
    { new_mode: 'fast', new_modes: ['a', 'b'], nothing: null },
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'file_abcdefgh', new_flag: true }] }] },
    { chat_template_kwargs: { enable_thinking: false }, provider: { order: ['a'] }, reasoning: { effort: 'low' } },
  ]
  for (const body of plain) t.equal(refusalOf('chat', body), null, JSON.stringify(body))
  t.equal(refusalOf('responses', { client_metadata: { session_id: 's', thread_id: 't' } }), null, 'of Codex')
  const refused: readonly (readonly [SdkRequest, JsonObject, string])[] = [
    ['chat', { new_resource: { id: 'x' } }, 'new_resource'],
    ['chat', { new_resource: [{ mode: { at: 'gs://b/o' } }] }, 'new_resource'],
    ['chat', { new_resources: [{ id: 'x' }] }, 'new_resources'],
    ['chat', { knowledge_base: 'x' }, 'knowledge_base'],
    ['chat', { assistant_id: 'x' }, 'assistant_id'],
    ['chat', { new_member: 'projects/p/locations/l/cachedContents/c' }, 'new_member'],
    ['chat', { data_sources: [{ type: 'azure_search' }] }, 'data_sources'],
    ['chat', { google: { cached_content: 'cachedContents/c' } }, 'google.cached_content'],
    [
      'chat',
      { messages: [{ role: 'user', content: [{ type: 'new', new_file: {} }] }] },
      'messages[0].content[0].new_file',
    ],
    ['chat', { tools: [{ type: 'retrieval', retrieval: { knowledge_id: 'k' } }] }, 'tools[0].retrieval'],
    ['messages', { new_resource: { id: 'x' } }, 'new_resource'],
    ['messages', { tools: [{ type: 'new', name: 'n', vault: { mode: 'v' } }] }, 'tools[0].vault'],
    ['messages', { mcp_servers: [{ type: 'new', vault_id: 'v' }] }, 'mcp_servers[0].vault_id'],
    ['messages', { user_profile_id: 'u' }, 'user_profile_id'],
    ['responses', { new_resource: { id: 'x' } }, 'new_resource'],
    ['responses', { tools: [{ type: 'collections_search', collection_ids: ['c'] }] }, 'tools[0].collection_ids'],
    ['responses', { input: [{ type: 'new', stored: { mode: 'x' } }] }, 'input[0].stored'],
  ]
  for (const [surface, body, param] of refused)
    t.match(refusalOf(surface, body), { code: 'unsupported_parameter', param }, JSON.stringify(body))
})

t.test('an unknown name of any length is refused at once', async (t) => {
  const name = `${'_knowledge'.repeat(200_000)}-`
  const body = { model: 'm', [name]: 1, inner: { [name]: 1 } }
  const ms = cpuMsOf(() => t.match(refusalOf('chat', body), { code: 'unsupported_parameter' }))
  t.ok(ms < 500, `${ms.toFixed(0)} ms`)
})

t.test('a text of any length is looked at by its begin alone', async (t) => {
  const body = { model: 'm', unknown: `file-${'a'.repeat(10_000_000)} ` }
  const ms = cpuMsOf(() => refusalOf('chat', body))
  t.ok(ms < 50, `${ms.toFixed(0)} ms`)
})

t.test('an operator permits members that are not known here, and no others', async (t) => {
  const lenient = { ...provider, capabilities: { allow_members: ['new_resource', 'data_sources'] } }
  t.equal(refusalOf('chat', { new_resource: { id: 'x' } }, lenient), null)
  t.match(refusalOf('chat', { data_sources: [{ type: 'x' }] }, lenient), { param: 'data_sources' })
})

t.test('addresses are fetched without the gateway’s identity', async (t) => {
  const image = (url: string): JsonObject => ({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  })
  const fetched = ['https://a.example/b.png', 'http://a.example:8080/b.png', 'data:image/png;base64,AA==', 'AA==']
  for (const url of fetched) t.equal(refusalOf('chat', image(url)), null, url)
  const others = [
    'gs://b/o',
    ' gs://b/o',
    's3://b/o',
    'file:///etc/passwd',
    'https://API.alpha.example/v1/files/f/content',
  ]
  for (const url of [...others, 'file-abcdefgh'])
    t.match(refusalOf('chat', image(url)), { param: 'messages[0].content[0].image_url.url' }, url)
})
