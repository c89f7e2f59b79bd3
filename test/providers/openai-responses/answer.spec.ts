import { countTokens as reference } from 'gpt-tokenizer/encoding/o200k_base'
import t from 'tap'
import { noUsage, type Usage } from '../../../src/domain/usage/usage.ts'
import { isObject, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import type { AnswerFault, UpstreamAnswer } from '../../../src/providers/dialect/dialect.ts'
import { completeResponsesAnswer, readResponsesAnswer } from '../../../src/providers/openai-responses/dialect.ts'
import { countResponsesUsage } from '../../../src/providers/openai-responses/estimate.ts'
import { readResponsesUsage } from '../../../src/providers/openai-responses/usage.ts'
import { problemsOfResponse } from '../../reference/responses-contract.ts'
import { askedOf, messageOf, responseOf, search, targetOf, usageOf } from './fixtures.ts'

const read = (response: unknown, body: JsonObject = {}): UpstreamAnswer | AnswerFault =>
  readResponsesAnswer(
    targetOf(),
    askedOf(body),
    Buffer.from(typeof response === 'string' ? response : JSON.stringify(response)),
  )

const answerOf = (response: unknown, body: JsonObject = {}): UpstreamAnswer => {
  const answer = read(response, body)
  if ('fault' in answer) throw new Error(answer.fault)
  return answer
}

const faultOf = (response: unknown): string => {
  const answer = read(response)
  return 'fault' in answer ? answer.fault : ''
}

const text = messageOf('Hello there')

/** Each line: what the provider says, and the members of the usage that are not zero, worked out by hand. */
const table: readonly (readonly [string, unknown, Partial<Usage> | null])[] = [
  ['plain', usageOf(12, 7), { inputUncached: 12, outputTotal: 7, promptTotal: 12 }],
  [
    'the input includes what the cache gave and took',
    usageOf(1000, 50, 600, 0, 300),
    { inputUncached: 100, cacheRead: 600, cacheWrite5m: 300, outputTotal: 50, promptTotal: 1000 },
  ],
  [
    'the output includes reasoning: 216 + 863',
    usageOf(12, 1079, 0, 863),
    { inputUncached: 12, outputTotal: 1079, outputReasoning: 863, promptTotal: 12 },
  ],
  [
    'parts never exceed their whole',
    usageOf(10, 5, 99, 99),
    { cacheRead: 10, outputTotal: 5, outputReasoning: 5, promptTotal: 10 },
  ],
  [
    'details may be missing',
    { input_tokens: 3, output_tokens: 4 },
    { inputUncached: 3, outputTotal: 4, promptTotal: 3 },
  ],
  ['no input', { output_tokens: 4, total_tokens: 9 }, null],
  ['no output', { input_tokens: 4, total_tokens: 9 }, null],
  ['no numbers', { input_tokens: '3', output_tokens: 4 }, null],
  ['below zero is zero', { input_tokens: -3, output_tokens: 4 }, { outputTotal: 4, negative: { input_tokens: -3 } }],
  ['no whole counts', { input_tokens: 3.5, output_tokens: 4 }, { inputUncached: 3, outputTotal: 4, promptTotal: 3 }],
  ['null', null, null],
  [
    'cached audio and images, and writes for twelve hours',
    {
      input_tokens: 100,
      input_tokens_details: {
        cached_tokens: 40,
        cached_tokens_details: { audio_tokens: 10, image_tokens: 20 },
        cache_write_tokens: 30,
        cache_write_tokens_details: { ttl_30m_tokens: 5, ttl_12h_tokens: 25 },
        audio_tokens: 15,
      },
      output_tokens: 4,
    },
    {
      inputUncached: 25,
      cacheRead: 40,
      cacheReadAudio: 10,
      cacheReadImage: 20,
      cacheWrite5m: 5,
      cacheWrite12h: 25,
      inputAudio: 5,
      outputTotal: 4,
      promptTotal: 100,
    },
  ],
]

t.test('usage', async (t) => {
  for (const [name, raw, expected] of table)
    for (const profile of ['openai', 'xai'] as const)
      t.strictSame(
        readResponsesUsage({ usage: raw }, profile, {}),
        expected === null ? null : { ...noUsage, ...expected },
        name,
      )
})

t.test('the service tier that the response was served with', async (t) => {
  const usage = { input_tokens: 3, output_tokens: 4 }
  const tierIn = (service_tier: unknown) => readResponsesUsage({ usage, service_tier }, 'openai', {})?.serviceTier
  t.equal(tierIn('priority'), 'priority')
  for (const standard of ['default', 'auto', null, undefined, 7]) t.equal(tierIn(standard), undefined)
})

t.test('an answer', async (t) => {
  const response = responseOf([text])
  t.strictSame(problemsOfResponse(response), [])
  const { json, reportedUsage, delivered, storedId } = answerOf(response)
  t.strictSame(json, response)
  t.strictSame(reportedUsage, { ...noUsage, inputUncached: 12, outputTotal: 7, promptTotal: 12 })
  t.strictSame(delivered.texts, ['Hello there'])
  t.equal(storedId, 'resp_1')
})

t.test('incomplete is an answer', async (t) => {
  const response = responseOf([text], {
    status: 'incomplete',
    completed_at: null,
    incomplete_details: { reason: 'max_output_tokens' },
  })
  t.strictSame(problemsOfResponse(response), [])
  t.equal(answerOf(response).reportedUsage?.outputTotal, 7)
})

t.test('what is no answer', async (t) => {
  const faults: readonly (readonly [unknown, string])[] = [
    ['<html>', 'not_json'],
    ['[]', 'not_json'],
    [{ error: { message: 'no' } }, 'error_in_answer'],
    [{ object: 'chat.completion', choices: [] }, 'no_output'],
    [responseOf([], { status: 'failed', error: { code: 'server_error', message: 'no' } }), 'response_failed'],
    [responseOf([], { status: 'in_progress' }), 'response_in_progress'],
    [responseOf([], { status: 'queued' }), 'response_queued'],
    [responseOf([], { status: 'cancelled' }), 'response_cancelled'],
  ]
  for (const [response, fault] of faults) t.equal(faultOf(response), fault)
})

t.test('an answer is named later only where it is kept', async (t) => {
  t.equal(answerOf(responseOf([text]), { store: true }).storedId, 'resp_1')
  t.equal(answerOf(responseOf([text]), { store: null }).storedId, 'resp_1')
  t.equal(answerOf(responseOf([text]), { store: false }).storedId, null)
  t.equal(answerOf(responseOf([text], { store: false })).storedId, null)
  t.equal(answerOf(responseOf([text], { id: '' })).storedId, null)
})

t.test('a counted usage has every figure that clients require', async (t) => {
  const answer = answerOf(responseOf([text], { usage: null }))
  t.equal(answer.reportedUsage, null)
  const counted = { ...noUsage, inputUncached: 9, promptTotal: 9, outputTotal: 4, outputReasoning: 1 }
  const told = parseJson(Buffer.from(completeResponsesAnswer(answer, counted, targetOf())).toString())
  if (!isObject(told)) throw new Error('no JSON')
  t.strictSame(told['usage'], usageOf(9, 4, 0, 1))
  t.strictSame({ ...told, usage: null }, answer.json)
  t.strictSame(problemsOfResponse(told), [])
})

t.test('the count of an answer without usage', async (t) => {
  const call = {
    id: 'fc_1',
    type: 'function_call',
    call_id: 'call_1',
    name: 'find',
    arguments: '{"a":1}',
    status: 'completed',
  }
  const thought = {
    id: 'rs_1',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'Let me think' }],
    content: [],
  }
  const response = responseOf([thought, search('ws_1'), text, call], { usage: null })
  t.strictSame(problemsOfResponse(response), [])
  const tools = [{ type: 'web_search' }]
  const input = [
    { role: 'user', content: 'Say hi' },
    { type: 'function_call_output', call_id: 'call_0', output: 'found' },
  ]
  const body = { instructions: 'Be brief. ', input, tools }
  const usage = await countResponsesUsage(targetOf(), askedOf(body), answerOf(response, body).delivered)
  const prompt = reference(`Be brief. userSay hifound${JSON.stringify(tools)}`) + 2 * 3 + 3
  const reasoning = reference('Let me think')
  t.strictSame(usage, {
    ...noUsage,
    inputUncached: prompt,
    promptTotal: prompt,
    outputTotal: reasoning + reference('Hello therefind{"a":1}'),
    outputReasoning: reasoning,
    toolCalls: { web_search: 1 },
  })
})
