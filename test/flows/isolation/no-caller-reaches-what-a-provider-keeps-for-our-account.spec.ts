import t, { type Test } from 'tap'
import { configOf, sheetOf, startTestGateway } from '../../support/gateway.ts'
import { startUpstreamBeforeSandbox } from '../../support/upstream-before-sandbox.ts'

const models = ['openai/a', 'anthropic/b', 'gemini/c', 'google/d', 'grok/e']
/** What a reference has in it, so that it is found wherever it is sent. */
const kept = 'k3ptatth3pr0vider'

interface Surface {
  readonly path: (model: string) => string
  readonly bodyOf: (model: string) => object
  /** Whatever of the provider's account a request can name, added to a body that is served without. */
  readonly references: Readonly<Record<string, object>>
}

const chatParts = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
const items = (...input: object[]) => ({ input: [...input, { role: 'user', content: 'Hello!' }] })
const inputPart = (part: object) => items({ role: 'user', content: [part] })
const blocks = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
const parts = (...each: object[]) => ({ contents: [{ role: 'user', parts: [{ text: 'Hello!' }, ...each] }] })

const surfaces: Readonly<Record<string, Surface>> = {
  chat: {
    path: () => '/v1/chat/completions',
    bodyOf: (model) => ({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
    references: {
      'a file': chatParts({ type: 'file', file: { file_id: `file-${kept}` } }),
      'an image of a bucket': chatParts({ type: 'image_url', image_url: { url: `gs://${kept}/a.png` } }),
      'the text of an image that is a file': chatParts({ type: 'image_url', image_url: `file-${kept}` }),
      'audio that was made before': {
        messages: [
          { role: 'user', content: 'Hello!' },
          { role: 'assistant', audio: { id: `audio_${kept}` } },
          { role: 'user', content: 'Again.' },
        ],
      },
      'a stored answer': { previous_response_id: `resp_${kept}` },
      'an index': { data_sources: [{ type: 'azure_search', parameters: { index_name: kept } }] },
      'a cache': { cached_content: `cachedContents/${kept}` },
      'a cache of Google': { google: { cached_content: `cachedContents/${kept}` } },
      'stores of a tool': { tools: [{ type: 'file_search', vector_store_ids: [`vs_${kept}`] }] },
      'what is not known yet': { memory_store: { id: `mem_${kept}` } },
    },
  },
  responses: {
    path: () => '/v1/responses',
    bodyOf: (model) => ({ model, input: 'Hello!' }),
    references: {
      'a file': inputPart({ type: 'input_file', file_id: `file-${kept}` }),
      'an image': inputPart({ type: 'input_image', file_id: `file-${kept}` }),
      'an item': items({ type: 'item_reference', id: `msg_${kept}` }),
      'an item without a type': items({ id: `msg_${kept}` }),
      reasoning: items({ type: 'reasoning', id: `rs_${kept}`, summary: [] }),
      'a stored answer': { previous_response_id: `resp_${kept}` },
      'a conversation': { conversation: `conv_${kept}` },
      'a prompt': { prompt: { id: `pmpt_${kept}` } },
      stores: { tools: [{ type: 'file_search', vector_store_ids: [`vs_${kept}`] }] },
      'a container': { tools: [{ type: 'code_interpreter', container: `cntr_${kept}` }] },
      "a container's files": {
        tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [`file-${kept}`] } }],
      },
      'a mask': { tools: [{ type: 'image_generation', input_image_mask: { file_id: `file-${kept}` } }] },
      'an approval': items({ type: 'mcp_approval_response', approval_request_id: `mcpr_${kept}`, approve: true }),
    },
  },
  messages: {
    path: () => '/v1/messages',
    bodyOf: (model) => ({ model, max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] }),
    references: {
      'a file': blocks({ type: 'document', source: { type: 'file', file_id: `file_${kept}` } }),
      'an image': blocks({ type: 'image', source: { type: 'file', file_id: `file_${kept}` } }),
      'an upload': blocks({ type: 'container_upload', file_id: `file_${kept}` }),
      'a file in a result': blocks({
        type: 'tool_result',
        tool_use_id: 'toolu_1',
        content: [{ type: 'image', source: { type: 'file', file_id: `file_${kept}` } }],
      }),
      'a bucket': blocks({ type: 'document', source: { type: 'url', url: `s3://${kept}/a.pdf` } }),
      'a container': { container: `container_${kept}` },
      'skills of a container': { container: { skills: [{ type: 'custom', skill_id: `skill_${kept}` }] } },
      'an earlier message': { diagnostics: { previous_message_id: `msg_${kept}` } },
    },
  },
  gemini: {
    path: (model) => `/v1beta/models/${model}:generateContent`,
    bodyOf: () => ({ contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] }),
    references: {
      'a bucket': parts({ fileData: { fileUri: `gs://${kept}/a.png`, mimeType: 'image/png' } }),
      'a file': parts({
        fileData: { fileUri: `https://generativelanguage.googleapis.com/v1beta/files/${kept}`, mimeType: 'image/png' },
      }),
      'a cache': { cachedContent: `cachedContents/${kept}` },
      stores: { tools: [{ fileSearch: { fileSearchStoreNames: [`fileSearchStores/${kept}`] } }] },
      corpora: {
        tools: [{ retrieval: { vertexRagStore: { ragResources: [{ ragCorpus: `projects/p/ragCorpora/${kept}` }] } } }],
      },
    },
  },
}

const start = async (t: Test) => {
  const { url, received } = await startUpstreamBeforeSandbox(t)
  const { providers } = configOf('', url, {})
  const sheets = Object.fromEntries(models.map((model) => [model, sheetOf()]))
  const { gateway, operator, account } = await startTestGateway(t, { sheets, config: { providers } })
  const ask = async (secret: string, path: string, body?: object, method = 'POST') => {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }
  return { ask, received, operator, account }
}

t.test('no request reaches what a provider keeps for our account, on any surface, of any provider', async (t) => {
  const { ask, received, operator, account } = await start(t)
  let servedCount = 0
  for (const [name, { path, bodyOf, references }] of Object.entries(surfaces))
    for (const model of models) {
      const plain = await ask(account.secret, path(model), bodyOf(model))
      t.equal(plain.status, 200, `${name} of ${model}: ${plain.text}`)
      servedCount += 1
      for (const [what, added] of Object.entries(references)) {
        const before = received.length
        const { status, text } = await ask(account.secret, path(model), { ...bodyOf(model), ...added })
        const sent = received.slice(before)
        if (status === 200)
          servedCount += 1 // A translation leaves out what has no counterpart.
        else t.match(text, /"message"/, 'the refusal explains itself')
        t.equal(sent.length, status === 200 ? 1 : 0, `${name} of ${model}, ${what}: ${status} ${text}`)
        t.notMatch(
          sent.map(({ asked, body }) => `${asked.url} ${body}`).join('\n'),
          kept,
          `${name} of ${model}, ${what}`,
        )
      }
    }
  const bills = (await operator.events()).filter(({ type }) => type === 'UsageRecorded')
  t.equal(bills.length, servedCount, 'what was refused is not billed')
})

t.test('an answer that one workspace stored exists for no other', async (t) => {
  const { ask, received, operator, account } = await start(t)
  const other = await operator.openAccount('other', '100')
  const made = await ask(account.secret, '/v1/responses', { model: 'openai/a', input: 'Hello!' })
  const { id } = JSON.parse(made.text) as { readonly id: string }
  const goneOn = { model: 'openai/a', input: 'More.', previous_response_id: id }
  const before = received.length
  t.equal((await ask(other.secret, '/v1/responses', goneOn)).status, 400)
  t.equal((await ask(other.secret, `/v1/responses/${id}`, undefined, 'GET')).status, 404)
  t.equal((await ask(other.secret, `/v1/responses/${id}/input_items`, undefined, 'GET')).status, 404)
  t.equal((await ask(other.secret, `/v1/responses/${id}/cancel`)).status, 404)
  t.equal((await ask(other.secret, `/v1/responses/${id}`, undefined, 'DELETE')).status, 404)
  t.equal(received.length, before, 'its provider is not asked')
  t.equal((await ask(account.secret, '/v1/responses', goneOn)).status, 200, 'its owner goes on')
  t.equal((await ask(account.secret, `/v1/responses/${id}`, undefined, 'DELETE')).status, 200)
})
