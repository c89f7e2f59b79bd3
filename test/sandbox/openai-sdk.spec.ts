import OpenAI from 'openai'
import t from 'tap'
import type { Sandbox } from '../../sandbox/server.ts'
import { errorOf, sandboxFor } from './ask.ts'

const clientOf = (sandbox: Sandbox, maxRetries = 0): OpenAI =>
  new OpenAI({ apiKey: 'sk-test', baseURL: sandbox.url, maxRetries })

const messages = [{ role: 'user' as const, content: 'Which way is north?' }]

const weather: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'weather',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer', minimum: 1, maximum: 7 },
        unit: { type: 'string', enum: ['celsius', 'kelvin'] },
      },
      required: ['city', 'days', 'unit'],
      additionalProperties: false,
    },
  },
}

t.test('a whole answer', async (t) => {
  const sandbox = await sandboxFor(t)
  const answer = await clientOf(sandbox).chat.completions.create({ model: 'gpt-4o-mini', messages })
  t.equal(answer.choices[0]?.message.content, 'You said: Which way is north?')
  t.match(answer.usage, { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 })
  const models = await clientOf(sandbox).models.list()
  t.ok(models.data.some((model) => model.id === 'gpt-4o-mini'))
})

t.test('the same request has the same answer and usage', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const request = { model: 'gpt-4o-mini;output_tokens=20', messages, n: 2 }
  const [first, second] = [await client.chat.completions.create(request), await client.chat.completions.create(request)]
  t.strictSame(first.choices, second.choices)
  t.strictSame(first.usage, second.usage)
  t.equal(first.usage?.completion_tokens, 40)
})

t.test('images and audio have fixed prices in tokens', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const answer = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        ],
      },
    ],
  })
  t.equal(answer.usage?.prompt_tokens, 2 + 3 + 85 + 50)
  t.match(answer.usage?.prompt_tokens_details, { audio_tokens: 50, image_tokens: 85 })
})

t.test('a stream', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const stream = client.chat.completions.stream({
    model: 'gpt-4o-mini',
    messages,
    stream_options: { include_usage: true },
  })
  const answer = await stream.finalChatCompletion()
  t.equal(answer.choices[0]?.message.content, 'You said: Which way is north?')
  t.equal(answer.choices[0]?.finish_reason, 'stop')
  t.match(await stream.totalUsage(), { prompt_tokens: 4, completion_tokens: 6 })
})

t.test('a length limit, a stop word and a stream without usage', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const short = await client.chat.completions.create({ model: 'm', messages, max_completion_tokens: 3 })
  t.equal(short.choices[0]?.message.content, 'You said: Which')
  t.equal(short.choices[0]?.finish_reason, 'length')
  t.equal(short.usage?.completion_tokens, 3)
  const stopped = await client.chat.completions.create({ model: 'm', messages, stop: [' is'] })
  t.equal(stopped.choices[0]?.message.content, 'You said: Which way')
  t.equal(stopped.choices[0]?.finish_reason, 'stop')
  for await (const chunk of await client.chat.completions.create({ model: 'm', messages, stream: true }))
    t.notOk('usage' in chunk)
})

t.test('tools, whole and streamed', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const request = { model: 'm', messages, tools: [weather, weather], parallel_tool_calls: true }
  const whole = await client.chat.completions.create(request)
  const streamed = await client.chat.completions.stream(request).finalChatCompletion()
  for (const answer of [whole, streamed]) {
    const [choice] = answer.choices
    t.equal(choice?.finish_reason, 'tool_calls')
    t.equal(choice?.message.content, null)
    t.equal(choice?.message.tool_calls?.length, 2)
    for (const call of choice?.message.tool_calls ?? []) {
      if (call.type !== 'function') return t.fail('another type of call')
      t.equal(call.function.name, 'weather')
      t.strictSame(JSON.parse(call.function.arguments), { city: 'sandbox', days: 1, unit: 'celsius' })
    }
  }
})

t.test('one call unless parallel calls are asked for, none when the choice is none or a tool spoke last', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const request = { model: 'm', messages, tools: [weather, { ...weather }] }
  const one = await client.chat.completions.create(request)
  t.equal(one.choices[0]?.message.tool_calls?.length, 1)
  const none = await client.chat.completions.create({ ...request, tool_choice: 'none' })
  t.equal(none.choices[0]?.finish_reason, 'stop')
  const calls = one.choices[0]?.message.tool_calls ?? []
  const turn = [
    ...messages,
    { role: 'assistant' as const, tool_calls: calls },
    { role: 'tool' as const, tool_call_id: calls[0]?.id ?? '', content: '5 degrees' },
  ]
  const after = await client.chat.completions.create({ ...request, messages: turn })
  t.equal(after.choices[0]?.message.content, 'You said: Which way is north?')
})

t.test('a JSON schema and a JSON object', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const schema = {
    type: 'object',
    properties: { steps: { type: 'array', items: { type: 'string' }, minItems: 2 }, sure: { type: 'boolean' } },
    required: ['steps', 'sure'],
  }
  const answer = await client.chat.completions.parse({
    model: 'm',
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'plan', schema, strict: true } },
  })
  t.strictSame(JSON.parse(answer.choices[0]?.message.content ?? ''), { steps: ['sandbox', 'sandbox'], sure: true })
  const free = await client.chat.completions.create({ model: 'm', messages, response_format: { type: 'json_object' } })
  t.type(JSON.parse(free.choices[0]?.message.content ?? ''), 'object')
})

t.test('audio, whole and streamed', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const request: OpenAI.ChatCompletionCreateParamsNonStreaming = {
    model: 'm',
    messages,
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'pcm16' },
  }
  const answer = await client.chat.completions.create(request)
  const message = answer.choices[0]?.message
  t.equal(message?.content, null)
  t.equal(message?.audio?.transcript, 'You said: Which way is north?')
  t.equal(answer.usage?.completion_tokens_details?.audio_tokens, 6)
  let data = ''
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    const delta: { audio?: { data?: string } } = chunk.choices[0]?.delta ?? {}
    data += delta.audio?.data ?? ''
  }
  t.equal(data, message?.audio?.data)
})

t.test('reasoning is spent first', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const answer = await client.chat.completions.create({ model: 'm', messages, reasoning_effort: 'low' })
  t.equal(answer.usage?.completion_tokens_details?.reasoning_tokens, 16)
  t.equal(answer.usage?.completion_tokens, 16 + 6)
  const short = await client.chat.completions.create({
    model: 'm',
    messages,
    reasoning_effort: 'high',
    max_completion_tokens: 10,
  })
  t.equal(short.choices[0]?.finish_reason, 'length')
  t.equal(short.choices[0]?.message.content, '')
  t.equal(short.usage?.completion_tokens, 10)
})

t.test('errors have the classes of the SDK', async (t) => {
  const client = clientOf(await sandboxFor(t))
  const classes = [
    [400, OpenAI.BadRequestError],
    [401, OpenAI.AuthenticationError],
    [403, OpenAI.PermissionDeniedError],
    [404, OpenAI.NotFoundError],
    [422, OpenAI.UnprocessableEntityError],
    [429, OpenAI.RateLimitError],
    [500, OpenAI.InternalServerError],
    [529, OpenAI.InternalServerError],
  ] as const
  for (const [status, errorClass] of classes) {
    const model = `m;status=${status};error_code=because`
    const error = await errorOf(client.chat.completions.create({ model, messages }))
    t.ok(error instanceof errorClass)
    t.match(error, { status, code: 'because' })
  }
})

t.test('an error in a stream, and a retry that succeeds', async (t) => {
  const sandbox = await sandboxFor(t)
  const stream = await clientOf(sandbox).chat.completions.create({
    model: 'm;stream_error=2;error_message=gone wrong',
    messages,
    stream: true,
  })
  let chunks = 0
  const read = async (): Promise<void> => {
    for await (const chunk of stream) chunks += chunk.choices.length
  }
  const error = await errorOf(read())
  t.ok(error instanceof OpenAI.APIError)
  t.match(error, { error: { message: 'gone wrong' } })
  t.equal(chunks, 2)
  sandbox.reset()
  const answer = await clientOf(sandbox, 1).chat.completions.create({
    model: 'm;status=500;first=1;retry_after=0',
    messages,
  })
  t.equal(answer.object, 'chat.completion')
  t.strictSame(
    sandbox.calls().map((call) => call.status),
    [500, 200],
  )
})
