import OpenAI from 'openai'
import t from 'tap'
import { GatewayError } from '../../../../../src/errors/gateway-error.ts'
import { type Serve, secret, startEdge, streamHead, textBytes } from '../../edge-fixture.ts'

const ask = { model: 'openai/plain', messages: [{ role: 'user' as const, content: 'Hello!' }] }
const chunk = (content: string): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'plain', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`

const clientOf = (url: string, maxRetries = 0): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: secret, maxRetries })

t.test('an answer, with the request id where the SDK looks for it', async (t) => {
  const { url, calls } = await startEdge(t)
  const answer = await clientOf(url).chat.completions.create(ask)
  t.equal(answer.choices[0]?.message.content, 'Hi')
  t.equal(answer._request_id, calls[0]?.requestId)
})

t.test('a stream, with comments in its silence', async (t) => {
  const serve: Serve = async function* (call, bill) {
    yield streamHead(call)
    yield textBytes(chunk('Hel'))
    await new Promise((resolve) => setTimeout(resolve, 100))
    yield textBytes(chunk('lo'))
    await bill()
    yield textBytes('data: [DONE]\n\n')
  }
  const { url } = await startEdge(t, { serve, bounds: { keepAliveCommentMs: 20 } })
  let text = ''
  for await (const part of await clientOf(url).chat.completions.create({ ...ask, stream: true }))
    text += part.choices[0]?.delta.content ?? ''
  t.equal(text, 'Hello')
})

t.test('an error within a stream is thrown to the reader', async (t) => {
  const serve: Serve = async function* (call) {
    yield streamHead(call)
    yield textBytes(chunk('Hel'))
    throw new GatewayError('upstream_stream_interrupted', 'Broken off.')
  }
  const { url } = await startEdge(t, { serve })
  const stream = await clientOf(url).chat.completions.create({ ...ask, stream: true })
  let text = ''
  const reading = async (): Promise<void> => {
    for await (const part of stream) text += part.choices[0]?.delta.content ?? ''
  }
  await t.rejects(reading(), { code: 'upstream_stream_interrupted', type: 'upstream_error' })
  t.equal(text, 'Hel')
})

t.test('a reader that stops early ends the call', async (t) => {
  const { promise: ended, resolve } = Promise.withResolvers<string>()
  const serve: Serve = async function* (call, _bill, clientGone) {
    yield streamHead(call)
    for (;;) {
      if (clientGone.aborted) {
        resolve('ended')
        return
      }
      yield textBytes(chunk('again '))
      await new Promise((wait) => setTimeout(wait, 5))
    }
  }
  const { url } = await startEdge(t, { serve })
  for await (const part of await clientOf(url).chat.completions.create({ ...ask, stream: true })) {
    t.ok(part)
    break
  }
  t.equal(await ended, 'ended')
})

const faultOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (fault: unknown) => fault,
  )

t.test('errors by class', async (t) => {
  const { url } = await startEdge(t, { creditUsd: '0.000001' })
  const client = clientOf(url)
  const create = (body: object): Promise<unknown> => faultOf(client.chat.completions.create({ ...ask, ...body }))
  t.ok((await create({ model: 'openai/absent' })) instanceof OpenAI.NotFoundError)
  const refused = await create({ temperature: 3 })
  t.ok(refused instanceof OpenAI.BadRequestError)
  t.match(refused, { param: 'temperature', code: 'invalid_value', type: 'invalid_request_error' })
  t.match(await create({}), { status: 402, code: 'insufficient_user_quota' })
  const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-nobody', maxRetries: 0 })
  t.ok((await faultOf(stranger.chat.completions.create(ask))) instanceof OpenAI.AuthenticationError)
})

t.test('the SDK honours Retry-After and comes again', async (t) => {
  let tries = 0
  const times: number[] = []
  const { url, calls } = await startEdge(t, {
    serve: async function* (call, bill) {
      times.push(Date.now())
      tries += 1
      if (tries === 1) throw new GatewayError('rate_limit_exceeded', 'Too fast.', { retryAfterSeconds: 1 })
      await bill()
      yield { type: 'head', contentType: 'application/json', level: 0, model: call.candidates[0]!.model }
      yield textBytes('{"choices":[]}')
    },
  })
  await clientOf(url, 1).chat.completions.create(ask)
  t.equal(calls.length, 2)
  t.ok(times[1]! - times[0]! >= 990)
})

t.test('models, by the SDK', async (t) => {
  const { url } = await startEdge(t)
  const client = clientOf(url)
  const ids: string[] = []
  for await (const { id } of client.models.list()) ids.push(id)
  t.same(ids, ['grok/plain', 'openai/other', 'openai/plain'])
  t.equal((await client.models.retrieve('openai/plain')).id, 'openai/plain')
})
