import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentParameters,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
  Type,
} from '@google/genai'
import t from 'tap'
import { billOf, checkReservations, countLasting, startBilling } from '../../support/bills.ts'
import { sheetOf, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { inLongForm } from '../../support/long-form.ts'

/** Every provider has every model; those named `gemini-…` as Google's own do. */
const models = {
  weather: 'weather;tool_calls=2',
  thinker: 'thinker',
  'gemini-2.5-flash': 'gemini-2.5-flash;searches=2',
  'gemini-3-flash': 'gemini-3-flash;tool_calls=2;searches=2',
  'claude-sonnet-4-5': 'claude-sonnet-4-5;tool_calls=1',
  slow: 'slow;output_tokens=200;chunk_delay_ms=20',
  mute: 'mute;no_usage',
  cut: 'cut;comment;crlf;split=7',
  down: 'down;status=503',
  refused: 'refused;status=400;error_message=the prompt is odd',
  odd: 'odd;output_tokens=20;stream_error=8',
  broken: 'broken;output_tokens=20;break_after=8',
  blocked: 'blocked;block_reason=SAFETY',
  busy: 'busy;status=429;retry_after=7',
}
/** The dialects, and the two variants of OpenAI's. `gemini` is Google's own, which is relayed. */
const providers = ['openai', 'grok', 'google', 'gemini', 'anthropic']
const perCall = { web_search: '0.01', grounded_prompt: '0.035', grounding_query: '0.014' }
const sheets = Object.fromEntries(
  providers.flatMap((provider) =>
    ['plain', ...Object.keys(models)].map((model) => [
      `${provider}/${model}`,
      sheetOf({ max_output_tokens: 8_000, per_call: perCall }),
    ]),
  ),
)

const clientOf = ({ gateway, account }: TestGateway): GoogleGenAI =>
  new GoogleGenAI({ apiKey: account.secret, httpOptions: { baseUrl: gateway.url } })

const faultOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => undefined,
    (fault: unknown) => fault,
  )

const errorOf = (fault: unknown): ReturnType<JSON['parse']> =>
  fault instanceof ApiError ? JSON.parse(fault.message.slice(fault.message.indexOf('{'))).error : fault

const requestIdOf = (response: GenerateContentResponse | undefined): string | undefined =>
  response?.sdkHttpResponse?.headers?.['x-gateway-request-id']

const jsonOf = async (answered: Promise<Response>): Promise<ReturnType<JSON['parse']>> =>
  JSON.parse(await (await answered).text())

const question = 'Which way is north?'
const answer = `You said: ${question}`
const place = { type: Type.OBJECT, properties: { place: { type: Type.STRING } }, required: ['place'] }

const partsOf = (response: GenerateContentResponse): readonly Part[] => response.candidates?.[0]?.content?.parts ?? []

interface Streamed {
  readonly parts: readonly Part[]
  readonly text: string
  readonly last: GenerateContentResponse | undefined
}

const readStream = async (stream: AsyncIterable<GenerateContentResponse>): Promise<Streamed> => {
  const parts: Part[] = []
  let last: GenerateContentResponse | undefined
  for await (const chunk of stream) {
    parts.push(...partsOf(chunk))
    last = chunk
  }
  return { parts, text: parts.map(({ text = '', thought }) => (thought ? '' : text)).join(''), last }
}

/** The same request whole and as a stream. */
const both = async (client: GoogleGenAI, request: GenerateContentParameters): Promise<readonly Streamed[]> => {
  const whole = await client.models.generateContent(request)
  const text = partsOf(whole).map(({ text = '', thought }) => (thought ? '' : text))
  return [
    { parts: partsOf(whole), text: text.join(''), last: whole },
    await readStream(await client.models.generateContentStream(request)),
  ]
}

t.test("Google's SDK on any model, over HTTP, on real servers", async (t) => {
  const running = await startTestGateway(t, { models, sheets })
  const client = clientOf(running)

  for (const provider of inLongForm(providers, (each) => each !== 'grok' && each !== 'google'))
    t.test(`with ${provider}`, async (t) => {
      const ask = (model: string, change: Partial<GenerateContentParameters> = {}): GenerateContentParameters => ({
        model: `${provider}/${model}`,
        contents: question,
        ...change,
      })

      t.test('text, and what it costs', async (t) => {
        const bills = await startBilling(running)
        for (const { text, last } of await both(client, ask('plain', { config: { systemInstruction: 'Be brief.' } }))) {
          t.equal(text, answer)
          t.match(last?.candidates, [{ finishReason: 'STOP', index: 0 }])
          t.match(last?.usageMetadata, { promptTokenCount: 6, candidatesTokenCount: 6, totalTokenCount: 12 })
          t.ok(last?.responseId)
        }
        for (const { total, surface } of await bills(t)) t.same([total, surface], ['0.000018', 'gemini'])
      })

      t.test('tools: parallel calls, and the loop to its end', async (t) => {
        const bills = await startBilling(running)
        const functionDeclarations = [
          { name: 'weather', parameters: place },
          { name: 'clock', parametersJsonSchema: { type: 'object', properties: { place: { type: 'string' } } } },
        ]
        const config = { tools: [{ functionDeclarations }] }
        for (const { parts, last } of await both(client, ask('weather', { config }))) {
          const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
          t.same(
            calls.map(({ name }) => name),
            ['weather', 'clock'],
          )
          for (const { args } of calls) t.type(args?.['place'], 'string')
          t.match(last?.candidates, [{ finishReason: 'STOP' }])
          const contents: Content[] = [
            { role: 'user', parts: [{ text: question }] },
            { role: 'model', parts: [...parts] },
            {
              role: 'user',
              parts: calls.map(({ id, name }) => ({
                functionResponse: { ...(id === undefined ? {} : { id }), name: name!, response: { output: 'sunny' } },
              })),
            },
          ]
          const after = await client.models.generateContent(ask('weather', { contents, config }))
          t.match(after.text, /\S/)
        }
        t.equal((await bills(t)).length, 4)
      })

      t.test('one function is demanded, and none', async (t) => {
        const functionDeclarations = [
          { name: 'weather', parameters: place },
          { name: 'clock', parameters: place },
        ]
        const calling = (mode: FunctionCallingConfigMode, allowedFunctionNames?: string[]) => ({
          tools: [{ functionDeclarations }],
          toolConfig: {
            functionCallingConfig: { mode, ...(allowedFunctionNames === undefined ? {} : { allowedFunctionNames }) },
          },
        })
        const demanded = await client.models.generateContent(
          ask('plain', { config: calling(FunctionCallingConfigMode.ANY, ['clock']) }),
        )
        t.match(demanded.functionCalls, [{ name: 'clock' }])
        const none = await client.models.generateContent(
          ask('plain', { config: calling(FunctionCallingConfigMode.NONE) }),
        )
        t.equal(none.functionCalls, undefined)
        t.equal(none.text, answer)
      })

      t.test('structured output, images, thinking', async (t) => {
        const bills = await startBilling(running)
        for (const schema of [
          { responseSchema: place },
          { responseJsonSchema: { ...place, type: 'object', properties: { place: { type: 'string' } } } },
        ])
          for (const { text } of await both(
            client,
            ask('plain', { config: { responseMimeType: 'application/json', ...schema } }),
          ))
            t.type(JSON.parse(text).place, 'string')
        const image = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }
        await both(client, ask('plain', { contents: [{ role: 'user', parts: [{ text: 'What is this?' }, image] }] }))
        for (const includeThoughts of [true, false]) {
          const config = { thinkingConfig: { thinkingBudget: 2_048, includeThoughts } }
          for (const { last, parts } of await both(client, ask('thinker', { config }))) {
            t.ok(last?.usageMetadata?.thoughtsTokenCount)
            if (!includeThoughts) t.notOk(parts.some(({ thought }) => thought))
          }
        }
        await bills(t)
      })

      t.test('a chat goes on with what it was answered', async (t) => {
        const chat = client.chats.create({ model: `${provider}/plain` })
        t.equal((await chat.sendMessage({ message: question })).text, answer)
        t.equal(
          (await readStream(await chat.sendMessageStream({ message: 'And south?' }))).text,
          'You said: And south?',
        )
        t.equal((await chat.sendMessage({ message: 'East?' })).text, 'You said: East?')
      })

      t.test('tokens are counted for nothing', async (t) => {
        const before = await countLasting(running.operator)
        const { totalTokens } = await client.models.countTokens({ model: `${provider}/plain`, contents: question })
        t.ok((totalTokens ?? 0) > 0)
        t.equal(await countLasting(running.operator), before)
      })

      t.test('the wallet, and the limit of the caller, bound the output', async (t) => {
        for (const { last } of await both(client, ask('plain', { config: { maxOutputTokens: 3 } })))
          t.match(last?.candidates, [{ finishReason: 'MAX_TOKENS' }])
      })

      t.test('bad input is told with its field, and what the provider refuses', async (t) => {
        const orphan = { functionResponse: { name: 'weather', response: { output: 'x' } } }
        const rows: readonly (readonly [Partial<GenerateContentParameters>, string])[] = [
          [{ config: { candidateCount: 2 } }, 'generationConfig.candidateCount'],
          [{ config: { cachedContent: 'cachedContents/1' } }, 'cachedContent'],
        ]
        for (const [change, field] of rows) {
          const error = errorOf(await faultOf(client.models.generateContent(ask('plain', change))))
          t.match(error, { code: 400, status: 'INVALID_ARGUMENT', details: [{}, { fieldViolations: [{ field }] }] })
        }
        const none = errorOf(
          await faultOf(client.models.generateContent(ask('plain', { contents: [{ role: 'user', parts: [orphan] }] }))),
        )
        t.match(none, { code: 400, status: 'INVALID_ARGUMENT' })
        t.match(errorOf(await faultOf(client.models.generateContent(ask('refused')))), {
          code: 400,
          message: /the prompt is odd/,
        })
        t.match(errorOf(await faultOf(client.models.generateContent(ask('busy')))), {
          code: 429,
          status: 'RESOURCE_EXHAUSTED',
          details: [{ reason: 'rate_limit_exceeded' }, { retryDelay: '7s' }],
        })
      })

      t.test('streams that fail, clients that leave, usage that is missing', async (t) => {
        for (const model of ['odd', 'broken']) {
          let first: GenerateContentResponse | undefined
          const read = async (): Promise<void> => {
            for await (const chunk of await client.models.generateContentStream(ask(model))) first ??= chunk
          }
          t.match(errorOf(await faultOf(read())), { code: 502, details: [{ reason: 'upstream_stream_interrupted' }] })
          t.match(await billOf(running, requestIdOf(first)), { outcome: 'interrupted' }, model)
        }
        const abort = new AbortController()
        const slow = await client.models.generateContentStream(ask('slow', { config: { abortSignal: abort.signal } }))
        const seen: GenerateContentResponse[] = []
        for await (const chunk of slow) {
          if (chunk.text) seen.push(chunk)
          if (seen.length === 5) break
        }
        abort.abort()
        t.match(await billOf(running, requestIdOf(seen[0])), { outcome: 'client_gone' })
        for (const { last } of await both(client, ask('mute'))) t.ok(last?.usageMetadata?.candidatesTokenCount)
      })

      t.test('cut events change nothing', async (t) => {
        for (const { text } of await both(client, ask('cut'))) t.equal(text, answer)
      })
    })

  t.test('chains lead from dialect to dialect', async (t) => {
    const chain = (...names: string[]) => ({ httpOptions: { extraBody: { models: names } } })
    const rows: readonly (readonly string[])[] = [
      ['gemini/down', 'openai/down', 'anthropic/plain'],
      ['anthropic/down', 'grok/down', 'gemini/plain'],
    ]
    for (const names of rows)
      for (const { text, last } of await both(client, { model: 'x', contents: question, config: chain(...names) })) {
        t.equal(text, answer)
        t.match(await billOf(running, requestIdOf(last)), { model: names.at(-1), level: 2 })
      }
  })

  t.test('models are listed in pages, and shown', async (t) => {
    const names: string[] = []
    for await (const { name } of await client.models.list({ config: { pageSize: 1_000 } })) names.push(name ?? '')
    t.ok(names.includes('models/gemini/plain') && names.includes('models/openai/plain'))
    t.match(await client.models.get({ model: 'openai/plain' }), {
      name: 'models/openai/plain',
      outputTokenLimit: 8_000,
    })
    const { url } = running.gateway
    const page = await jsonOf(fetch(`${url}/v1beta/models?pageSize=2`))
    const next = await jsonOf(fetch(`${url}/v1beta/models?pageSize=2&pageToken=${page.nextPageToken}`))
    t.equal(page.models.length, 2)
    t.ok(next.models[0].name > page.models[1].name)
    const none = await fetch(`${url}/v1beta/models/openai/none`)
    t.match(await none.json(), { error: { code: 404, status: 'NOT_FOUND', details: [{ reason: 'model_not_found' }] } })
  })

  t.test('a stream without alt is one array, a key may be in the address, and a slash may be %2F', async (t) => {
    const { gateway, account } = running
    const body = JSON.stringify({ contents: [{ parts: [{ text: question }] }], generation_config: { top_k: 3 } })
    const post = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
      fetch(`${gateway.url}/v1beta/models/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
    const keyed = `key=${account.secret}`
    for (const model of ['gemini/plain', 'openai%2Fplain', 'anthropic/plain']) {
      const streamed = await post(`${model}:streamGenerateContent?${keyed}`)
      t.match(streamed.headers.get('content-type'), 'application/json')
      const elements: readonly GenerateContentResponse[] = JSON.parse(await streamed.text())
      t.equal(elements.map((element) => partsOf(element)[0]?.text ?? '').join(''), answer)
      t.match(elements.at(-1), { usageMetadata: { totalTokenCount: 10 } })
    }
    const broken = await jsonOf(post(`gemini/odd:streamGenerateContent?${keyed}`))
    t.match(broken.at(-1), { error: { code: 502, status: 'UNAVAILABLE' } })
    t.match(await (await post('gemini/plain:generateContent')).json(), {
      error: { code: 401, status: 'UNAUTHENTICATED' },
    })
    const odd = await post(`gemini/plain:generateContent?alt=proto&${keyed}`)
    t.match(await odd.json(), { error: { code: 400, details: [{}, { fieldViolations: [{ field: 'alt' }] }] } })

    const once = { 'idempotency-key': 'a-stream', 'x-goog-api-key': account.secret }
    const first = await (await post('gemini/plain:streamGenerateContent', once)).text()
    const again = await post('gemini/plain:streamGenerateContent', once)
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    t.equal(await again.text(), first)
    const events = await post('gemini/plain:streamGenerateContent?alt=sse', once)
    t.match(await events.json(), { error: { code: 422, details: [{ reason: 'idempotency_key_reused' }] } })
  })

  t.test('what was set aside covers all of it', (t) => checkReservations(t, running))
})
