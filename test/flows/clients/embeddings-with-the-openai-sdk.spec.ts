import OpenAI, { APIError } from 'openai'
import t from 'tap'
import { embed } from '../../../sandbox/embeddings/vectors.ts'
import { sandboxOrganisation } from '../../../sandbox/server.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import { billOf, checkReservations, startBilling } from '../../support/bills.ts'
import { sheetOf, startTestGateway } from '../../support/gateway.ts'

const models = {
  down: 'down;status=503',
  mute: 'mute;no_usage',
  refused: 'refused;status=400;leak=Details',
}
const embedding: PriceSheet = sheetOf({
  per_million_tokens: { input: '0.13', output: '0' },
  max_output_tokens: 0,
  context_tokens: 8_192,
})
/** `google` is Google's endpoint for OpenAI's clients, `gemini` its own API. */
const providers = ['openai', 'gemini', 'google', 'grok']
const sheets = {
  ...Object.fromEntries(
    ['vectors', ...Object.keys(models)].flatMap((name) =>
      [...providers, 'anthropic'].map((provider) => [`${provider}/${name}`, embedding]),
    ),
  ),
  'openai/plain': sheetOf(),
}

const running = await startTestGateway(t, { models, sheets })
const { gateway, account, sandbox } = running
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.secret, maxRetries: 0 })

const faultOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => undefined,
    (fault: unknown) => fault,
  )

for (const provider of providers)
  t.test(`texts with ${provider}: the vectors of the provider, and its own usage on the bill`, async (t) => {
    const bills = await startBilling(running)
    const model = `${provider}/vectors`
    const input = ['The food was delicious.', 'The waiter was slow.']
    const asked = { model, input, dimensions: 64 }
    const expected = input.map((text) => embed(text, 64))
    const encoded = await client.embeddings.create(asked)
    t.match(encoded, { object: 'list', usage: { prompt_tokens: 8, total_tokens: 8 } })
    t.same(
      encoded.data.map(({ embedding }) => [...embedding]),
      expected,
      "base64, the SDK's own choice",
    )
    const floats = await client.embeddings.create({ ...asked, encoding_format: 'float' })
    t.same(
      floats.data,
      expected.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    )
    const whole = await client.embeddings.create({ model, input: input[0]!, user: 'someone' })
    t.equal(whole.data[0]?.embedding.length, 1_536)
    t.same(
      (await bills(t)).map(({ surface, total, lines }) => [surface, total, lines]),
      [8, 8, 4].map((tokens) => {
        const amount = `0.0000${(13 * tokens).toString().padStart(4, '0')}`.replace(/0+$/, '')
        return ['embeddings', amount, [{ item: 'input', quantity: tokens, unitPrice: '0.00000013', amount }]]
      }),
    )
  })

t.test('token ids are one input, or several', async (t) => {
  const bills = await startBilling(running)
  const one = await client.embeddings.create({ model: 'openai/vectors', input: [9, 8, 7] })
  t.match(one, { data: { length: 1 }, usage: { prompt_tokens: 3 } })
  const several = await client.embeddings.create({ model: 'openai/vectors', input: [[9], [8, 7]] })
  t.match(several, { data: { length: 2 }, usage: { prompt_tokens: 3 } })
  const many = Array.from({ length: 37 }, () => Array.from({ length: 8_000 }, (_, id) => id))
  const most = await client.embeddings.create({ model: 'openai/vectors', input: many, dimensions: 1 })
  t.match(most, { data: { length: 37 }, usage: { prompt_tokens: 296_000 } })
  await bills(t)
  const refused = await faultOf(
    client.embeddings.create({ model: 'openai/vectors', input: [...many, many[0]!, many[0]!] }),
  )
  t.match(refused, { status: 413, code: 'request_too_large', message: /306000 members and elements/ })
  const above = [...many, Array.from({ length: 4_001 }, () => 1)]
  t.match(await faultOf(client.embeddings.create({ model: 'openai/vectors', input: above })), {
    status: 400,
    code: 'invalid_value',
    param: 'input',
    message: /it has 300001 token ids, and a request takes at most 300000/,
  })
  const tooMany = Array.from({ length: 2_049 }, () => 'a')
  t.match(await faultOf(client.embeddings.create({ model: 'openai/vectors', input: tooMany })), {
    status: 400,
    param: 'input',
    message: /it has 2049 inputs, and a request takes at most 2048/,
  })
  t.match(await faultOf(client.embeddings.create({ model: 'gemini/vectors', input: [1, 2] })), {
    status: 400,
    param: 'input',
    message: /token ids, which models of Google do not read/,
  })
})

t.test('a chain serves with the next model that embeds', async (t) => {
  const { data, response } = await client.embeddings
    .create({
      model: 'openai/plain',
      input: 'Hello!',
      ...{ models: ['openai/plain', 'anthropic/vectors', 'openai/down', 'gemini/vectors'] },
    })
    .withResponse()
  t.equal(data.usage.prompt_tokens, 1)
  t.equal(response.headers.get('x-gateway-fallback-level'), '3')
  t.equal(response.headers.get('x-gateway-fallback-model'), 'gemini/vectors')
  const { attempts, total } = await billOf(running, response.headers.get('x-gateway-request-id'))
  t.match(attempts, [{ provider: 'anthropic' }, { provider: 'openai', status: 503 }, { provider: 'gemini' }])
  t.equal(total, '0.00000013')
})

t.test('repeated under its key it is the same answer, and one charge', async (t) => {
  const calls = sandbox.totals().calls
  const ask = () =>
    client.embeddings
      .create({ model: 'openai/vectors', input: 'Once.' }, { headers: { 'Idempotency-Key': 'once' } })
      .withResponse()
  const [first, second] = [await ask(), await ask()]
  t.same(second.data, first.data)
  t.equal(second.response.headers.get('idempotent-replayed'), 'true')
  t.equal(sandbox.totals().calls, calls + 1)
})

t.test('a provider that reports no usage is counted for', async (t) => {
  for (const model of ['openai/mute', 'gemini/mute']) {
    const { data, response } = await client.embeddings.create({ model, input: 'Three small words' }).withResponse()
    t.ok(data.usage.prompt_tokens >= 3)
    const bill = await billOf(running, response.headers.get('x-gateway-request-id'))
    t.match(bill, { source: 'estimated', usage: { promptTotal: data.usage.prompt_tokens } })
  }
})

t.test('errors name what is wrong', async (t) => {
  const refusal = async (body: object): Promise<unknown> =>
    faultOf(client.embeddings.create({ model: 'openai/vectors', input: 'Hello!', ...body }))
  t.match(await refusal({ input: [] }), { status: 400, code: 'invalid_value', param: 'input' })
  t.match(await refusal({ input: undefined }), { status: 400, code: 'missing_required_parameter', param: 'input' })
  t.match(await refusal({ input: ['', 'a'] }), { status: 400, param: 'input[0]' })
  t.match(await refusal({ encoding_format: 'int8' }), { status: 400, param: 'encoding_format' })
  t.match(await refusal({ dimensions: 0 }), { status: 400, param: 'dimensions' })
  t.match(await refusal({ model: 'openai/plain' }), { status: 400, param: 'model', message: /makes no embeddings/ })
  t.match(await refusal({ model: 'anthropic/vectors' }), { status: 400, message: /makes no embeddings/ })
  const chat = { model: 'openai/vectors', messages: [{ role: 'user' as const, content: 'Hello!' }] }
  t.match(await faultOf(client.chat.completions.create(chat)), { status: 400, message: /`\/v1\/embeddings`/ })
  const scrubbed = await refusal({ model: 'openai/refused' })
  t.match(scrubbed, { status: 400, message: /Details/ })
  t.notMatch(scrubbed instanceof APIError ? scrubbed.message : '', sandboxOrganisation)
})

t.test('the list of models has them', async (t) => {
  for await (const model of client.models.list())
    if (model.id === 'openai/vectors') t.match(model, { supported_endpoint_types: ['embeddings'] })
    else if (model.id === 'openai/plain') t.notMatch(model, { supported_endpoint_types: ['embeddings'] })
  t.match(await client.models.retrieve('openai/vectors'), {
    context_length: 8_192,
    max_completion_tokens: null,
    pricing: { prompt: '0.00000013', completion: '0' },
  })
})

t.test('no bill is above its reservation', (t) => checkReservations(t, running))
