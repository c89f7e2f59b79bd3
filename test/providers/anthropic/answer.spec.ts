import t from 'tap'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { completeMessagesAnswer, readMessagesAnswer } from '../../../src/providers/anthropic/dialect.ts'
import { countMessagesUsage } from '../../../src/providers/anthropic/estimate.ts'
import type { UpstreamAnswer } from '../../../src/providers/dialect/dialect.ts'
import { countTokens } from '../../../src/providers/dialect/tokens.ts'
import { askedOf, targetOf } from './target.ts'

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' }
const usage = { input_tokens: 5, output_tokens: 2 }
const read = (body: unknown) =>
  readMessagesAnswer(targetOf(), askedOf(), Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
const answerOf = (content: readonly JsonObject[], reportedUsage: unknown = usage): UpstreamAnswer => {
  const answer = read({ ...message, content, usage: reportedUsage })
  if ('fault' in answer) throw new Error(answer.fault)
  return answer
}

t.test('an answer', async (t) => {
  const { reportedUsage, delivered } = answerOf([
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'server_tool_use', id: 'a', name: 'web_search', input: { query: 'q' } },
    { type: 'web_search_tool_result', tool_use_id: 'a', content: [] },
    { type: 'text', text: 'Hi' },
    { type: 'tool_use', id: 'b', name: 'find', input: { a: 1 } },
  ])
  t.strictSame(reportedUsage, { ...noUsage, inputUncached: 5, promptTotal: 5, outputTotal: 2 })
  t.strictSame(delivered.texts, ['web_search{"query":"q"}Hifind{"a":1}'])
  t.strictSame(delivered.reasoningTexts, ['hm'])
  t.strictSame(delivered.toolCalls, { web_search: 1 })
})

t.test('what is no answer', async (t) => {
  t.strictSame(read('<html>'), { fault: 'not_json' })
  t.strictSame(read({ type: 'error', error: { type: 'api_error', message: 'm' } }), { fault: 'error_in_answer' })
  t.strictSame(read({ id: 'x' }), { fault: 'no_content' })
})

t.test('a usage that is missing or is none is counted', async (t) => {
  const content = [{ type: 'text', text: 'Hi' }]
  for (const reportedUsage of [null, 'many', {}, { input_tokens: 5 }])
    t.equal(answerOf(content, reportedUsage).reportedUsage, null, JSON.stringify(reportedUsage))
})

t.test('the counted usage is put in', async (t) => {
  const content = [{ type: 'text', text: 'Hi' }]
  const counted = { ...noUsage, inputUncached: 9, promptTotal: 9, outputTotal: 4, outputReasoning: 1 }
  t.strictSame(
    JSON.parse(Buffer.from(completeMessagesAnswer(answerOf(content, null), counted, targetOf())).toString()),
    {
      ...message,
      content,
      usage: {
        input_tokens: 9,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 4,
        output_tokens_details: { thinking_tokens: 1 },
        server_tool_use: null,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        service_tier: 'standard',
        inference_geo: null,
        speed: null,
      },
    },
  )
})

t.test('the count is of all text, with three tokens a message', async (t) => {
  const { delivered } = answerOf([
    { type: 'thinking', thinking: 'I wonder' },
    { type: 'web_search_tool_result', tool_use_id: 'a', content: [] },
    { type: 'text', text: 'Hello there' },
  ])
  const asked = askedOf({
    system: [{ type: 'text', text: 'Be brief. ' }],
    messages: [
      { role: 'user', content: 'Say hi. ' },
      { role: 'assistant', content: [{ type: 'tool_use', name: 'find ', input: { a: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', content: [{ type: 'text', text: 'Found.' }] }] },
    ],
  })
  const prompt = (await countTokens('Be brief. Say hi. find {"a":1}Found.')) + 3 * 3
  const [reasoning, answer] = [await countTokens('I wonder'), await countTokens('Hello there')]
  t.strictSame(await countMessagesUsage(targetOf(), asked, delivered), {
    ...noUsage,
    inputUncached: prompt,
    promptTotal: prompt,
    outputTotal: reasoning + answer,
    outputReasoning: reasoning,
    toolCalls: { web_search: 1 },
  })
})
