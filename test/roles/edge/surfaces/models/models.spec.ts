import t from 'tap'
import { errorOf, secret, sheetOf, startEdge } from '../../edge-fixture.ts'

const sheets = {
  'openai/plain': sheetOf({
    per_million_tokens: { input: '0.15', cached_input: '0.075', output: '0.6' },
    max_output_tokens: 16_384,
    context_tokens: 128_000,
    per_call: { web_search_low: '0.01' },
  }),
  'nobody/plain': sheetOf(),
}
const unknownKey = 'sk-not-a-key'
const json = async (response: Response): Promise<unknown> => response.json()

t.test('the list needs no key, and has what can be called', async (t) => {
  const { url } = await startEdge(t, { sheets })
  const response = await fetch(`${url}/v1/models`)
  t.equal(response.status, 200)
  t.ok(response.headers.get('x-request-id'))
  const created = Date.parse('2026-01-01T00:00:00Z') / 1_000
  t.same(await json(response), {
    object: 'list',
    data: ['grok/plain', 'openai/other', 'openai/plain'].map((id) => ({
      id,
      object: 'model',
      created,
      owned_by: id.split('/')[0],
      supported_endpoint_types: id === 'grok/plain' ? ['openai'] : ['openai', 'anthropic', 'openai-response'],
    })),
  })
})

t.test('one model, its slash as it is or encoded, or by its alias', async (t) => {
  const { url } = await startEdge(t, { sheets })
  for (const id of ['openai/plain', 'openai%2Fplain', 'plain']) {
    const model = await json(await fetch(`${url}/v1/models/${id}`))
    t.match(model, {
      id: 'openai/plain',
      object: 'model',
      context_length: 128_000,
      max_completion_tokens: 16_384,
      architecture: undefined,
      pricing: {
        prompt: '0.00000015',
        completion: '0.0000006',
        input_cache_read: '0.000000075',
        per_million_tokens: { input: '0.15', output: '0.6' },
        per_call: { web_search_low: '0.01' },
      },
    })
  }
  for (const id of ['openai/absent', 'nobody/plain', '%ff', '__proto__', 'gateway/auto']) {
    const response = await fetch(`${url}/v1/models/${id}`)
    t.match({ status: response.status, ...(await errorOf(response)) }, { status: 404, code: 'model_not_found' }, id)
  }
})

t.test('modalities are those that are known', async (t) => {
  const rates = { input: '1', output: '2', audio_input: '3', audio_output: '4' }
  const embedding = sheetOf({ per_million_tokens: { input: '1', output: '0' }, max_output_tokens: 0 })
  const { url } = await startEdge(t, {
    sheets: { 'openai/many': sheetOf({ per_million_tokens: rates }), 'openai/embeds': embedding },
  })
  const modalityOf = async (id: string): Promise<unknown> => json(await fetch(`${url}/v1/models/openai/${id}`))
  t.match(await modalityOf('many'), { architecture: undefined }, 'it may read images too, charged as text')
  t.match(await modalityOf('embeds'), { architecture: { modality: 'text->embeddings' } })
})

t.test('a key that is sent must be valid', async (t) => {
  const { url } = await startEdge(t, { sheets })
  for (const path of ['/v1/models', '/v1/models/openai/plain'])
    for (const headers of [{ authorization: `Bearer ${unknownKey}` }, { 'x-api-key': unknownKey }]) {
      const response = await fetch(`${url}${path}`, { headers })
      t.match({ status: response.status, ...(await errorOf(response)) }, { status: 401, code: 'invalid_api_key' }, path)
    }
  const gemini = await fetch(`${url}/v1beta/models`, { headers: { 'x-goog-api-key': unknownKey } })
  t.match([gemini.status, await errorOf(gemini)], [401, { code: 401, status: 'UNAUTHENTICATED' }])
  t.equal((await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).status, 200)
})

t.test('a Messages client gets the shape it knows', async (t) => {
  const { url } = await startEdge(t, { sheets })
  for (const headers of [{ 'x-api-key': secret }, { 'anthropic-version': '2023-06-01' }]) {
    const created_at = '2026-01-01T00:00:00.000Z'
    t.match(await json(await fetch(`${url}/v1/models`, { headers })), {
      data: [{ type: 'model', id: 'grok/plain', display_name: 'grok/plain', created_at }],
      has_more: false,
      first_id: 'grok/plain',
      last_id: 'openai/plain',
    })
    t.match(await json(await fetch(`${url}/v1/models/openai/plain`, { headers })), {
      type: 'model',
      id: 'openai/plain',
    })
  }
})

t.test('models that make videos are listed with the others, as such', async (t) => {
  const video = { currency: 'USD', unit_price: '0.14', units_per_second: { std: '0.6', pro: '0.8' } } as const
  const videoSheets = { 'vv/v3': video, 'vv/v99': video, 'nobody/v3': video, 'openai/v3': video }
  const { url, post } = await startEdge(t, { sheets, videoSheets })
  const list = (await json(await fetch(`${url}/v1/models`))) as { data: { id: string }[] }
  t.same(
    list.data.map(({ id }) => id),
    ['grok/plain', 'openai/other', 'openai/plain', 'vv/v3'],
    'not those of which nobody knows what they can be asked for, nor those of no provider',
  )
  t.match(list.data.at(-1), { owned_by: 'vv', supported_endpoint_types: ['openai-video'] })
  t.match(await json(await fetch(`${url}/v1/models/vv/v3`)), {
    id: 'vv/v3',
    context_length: null,
    architecture: { modality: 'text+image->video', input_modalities: ['text', 'image'], output_modalities: ['video'] },
    pricing: { version: 'v1', currency: 'USD', unit_price: '0.14', units_per_second: { std: '0.6' } },
  })
  const response = await post({ model: 'vv/v3', messages: [{ role: 'user', content: 'x' }] })
  t.match({ status: response.status, ...(await errorOf(response)) }, { status: 400, param: 'model' })
})
