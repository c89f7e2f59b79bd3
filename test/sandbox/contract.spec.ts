import t from 'tap'
import {
  problemsOfChatChunk,
  problemsOfChatRequest,
  problemsOfChatResponse,
  problemsOfError,
  problemsOfModels,
} from '../reference/contract.ts'
import { ask, chunksOf, dataLines, directed, jsonOf, question, sandboxFor, streamed } from './ask.ts'

const lookUp = {
  type: 'function',
  function: {
    name: 'look_up',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}

const schemaFormat = {
  type: 'json_schema',
  json_schema: { name: 'place', schema: { type: 'object', properties: { name: { type: 'string' } } } },
}

const requests = {
  plain: question(),
  'two choices': { ...question(), n: 2 },
  'a length limit': { ...question(), max_completion_tokens: 2 },
  tools: { ...question(), tools: [lookUp], tool_choice: 'auto' },
  'parallel tools': { ...question(), tools: [lookUp, lookUp], parallel_tool_calls: true },
  'a JSON object': { ...question(), response_format: { type: 'json_object' } },
  'a JSON schema': { ...question(), response_format: schemaFormat },
  reasoning: { ...question(), reasoning_effort: 'low' },
  audio: { ...question(), modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } },
  'profile xai': directed('profile=xai', { reasoning_effort: 'low' }),
  'profile gemini': directed('profile=gemini', { reasoning_effort: 'low' }),
  'every figure': directed('cached_tokens=3;cache_write_tokens=2;image_tokens=5;audio_in_tokens=1;audio_out_tokens=1'),
  'usage with choices': directed('usage_with_choices=1'),
  'no usage': directed('no_usage=1'),
  unicode: directed('unicode=1'),
}

t.test('every answer is as the description says', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [name, request] of Object.entries(requests)) {
    t.strictSame(problemsOfChatRequest(request), [], `${name}: the request`)
    const response = await ask(sandbox, request)
    t.equal(response.status, 200)
    t.strictSame(problemsOfChatResponse(await response.json()), [], `${name}: the answer`)
  }
})

t.test('every chunk is as the description says, and the last event is [DONE]', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [name, request] of Object.entries(requests)) {
    const text = await (await ask(sandbox, { ...request, ...streamed })).text()
    const chunks = chunksOf(text)
    t.ok(chunks.length >= 3, name)
    t.strictSame(chunks.flatMap(problemsOfChatChunk), [], `${name}: the chunks`)
    t.equal(dataLines(text).at(-1), '[DONE]')
    t.equal(
      new Set(
        dataLines(text)
          .slice(0, -1)
          .map((data) => JSON.parse(data).id),
      ).size,
      1,
      `${name}: one id`,
    )
  }
})

t.test('models', async (t) => {
  const sandbox = await sandboxFor(t)
  const response = await fetch(`${sandbox.url}/models`, { headers: { authorization: 'Bearer sk-test' } })
  t.strictSame(problemsOfModels(await response.json()), [])
  t.equal((await fetch(`${sandbox.url}/models`)).status, 401)
})

t.test('refusals are in the shape of the description', async (t) => {
  const sandbox = await sandboxFor(t)
  const url = `${sandbox.url}/chat/completions`
  const post = (body: string, authorization?: string): Promise<Response> =>
    fetch(url, { method: 'POST', body, headers: authorization === undefined ? {} : { authorization } })
  const refusals: readonly [number, Promise<Response>][] = [
    [401, post('{}')],
    [401, post('{}', 'Bearer ')],
    [401, post('{}', 'Basic abc')],
    [400, post('{', 'Bearer k')],
    [400, post('[]', 'Bearer k')],
    [400, post('{"messages":[]}', 'Bearer k')],
    [400, post('{"model":"m"}', 'Bearer k')],
    [400, post('{"model":"m","messages":[]}', 'Bearer k')],
    [400, post('{"model":"m","n":0,"messages":[{"role":"user","content":"a"}]}', 'Bearer k')],
    [400, post('{"model":"m;status=abc","messages":[{"role":"user","content":"a"}]}', 'Bearer k')],
    [404, fetch(`${sandbox.url}/nothing`)],
  ]
  for (const [status, refusal] of refusals) {
    const response = await refusal
    t.equal(response.status, status)
    t.strictSame(problemsOfError(await response.json()), [])
  }
})

t.test('the contract sees what is wrong', async (t) => {
  const sandbox = await sandboxFor(t)
  const answer = await jsonOf(ask(sandbox, question()))
  t.not(problemsOfChatResponse({ ...answer, object: 'list' }).length, 0)
  t.not(problemsOfChatResponse({ ...answer, choices: [{ ...answer.choices[0], finish_reason: 'done' }] }).length, 0)
  t.not(problemsOfChatRequest({ ...question(), messages: [{ role: 'robot', content: 'a' }] }).length, 0)
  t.not(problemsOfChatRequest({ messages: question()['messages'] }).length, 0)
  t.not(problemsOfChatChunk({ id: 'a' }).length, 0)
  t.not(problemsOfModels({ object: 'list', data: [{ id: 'a' }] }).length, 0)
})

t.test('the contract tolerates the nulls of the real service', async (t) => {
  const choice = {
    index: 0,
    delta: { role: 'assistant', content: null, refusal: null },
    logprobs: null,
    finish_reason: null,
  }
  const head = { id: 'a', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const nulls = { usage: null, service_tier: null, system_fingerprint: null }
  t.strictSame(problemsOfChatChunk({ ...head, ...nulls, choices: [choice] }), [])
})
