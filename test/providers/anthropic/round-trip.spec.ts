import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import { messagesClient, messagesUpstream } from '../../../src/providers/anthropic/dialect.ts'
import { asSent } from '../../support/as-sent.ts'
import { opusSheet, targetOf } from './target.ts'

const word = fc.string({ minLength: 1, maxLength: 8 })
const name = fc.stringMatching(/^[a-z]{1,8}$/)
const cached = fc.constantFrom<JsonObject>(
  {},
  {},
  { cache_control: { type: 'ephemeral', ttl: '5m' } },
  { cache_control: { type: 'ephemeral', ttl: '1h' } },
)
const marked = (block: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> =>
  fc.tuple(block, cached).map(([each, mark]) => ({ ...each, ...mark }))

/** The API refuses blank ones, which are left out. */
const text = marked(word.filter((each) => each.trim() !== '').map((each) => ({ type: 'text', text: each })))
const image = marked(
  fc.constantFrom<JsonObject>(
    { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
  ),
)
const document = marked(
  fc.constantFrom<JsonObject>(
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain' }, title: 'T' },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' } },
    { type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } },
  ),
)
const shown = fc.array(fc.oneof(text, image, document), { minLength: 1, maxLength: 3 })
const thought = fc.oneof(
  fc.tuple(word, word).map(([thinking, signature]) => ({ type: 'thinking', thinking, signature })),
  word.map((data) => ({ type: 'redacted_thinking', data })),
)
const call = marked(fc.record({ type: fc.constant('tool_use'), name, input: fc.dictionary(name, fc.jsonValue()) }))
const answer = fc.record({
  thoughts: fc.array(thought, { maxLength: 2 }),
  texts: fc.array(text, { maxLength: 2 }),
  calls: fc.array(fc.tuple(call, shown, fc.boolean()), { maxLength: 2 }),
})
const exchange = fc.tuple(shown, answer)

/** User and assistant in turn; the user answers every call first. */
const messagesOf = (
  exchanges: readonly (readonly [readonly JsonObject[], typeof answer extends fc.Arbitrary<infer A> ? A : never])[],
) => {
  const messages: JsonObject[] = []
  let results: JsonObject[] = []
  let calls = 0
  for (const [asked, { thoughts, texts, calls: called }] of exchanges) {
    messages.push({ role: 'user', content: [...results, ...asked] })
    const named = called.map(([block, content, isError]) => {
      calls += 1
      return { block: { ...block, id: `toolu_${calls}` }, content, isError }
    })
    results = named.map(({ block, content, isError }) => ({
      type: 'tool_result',
      tool_use_id: block.id,
      content,
      ...(isError ? { is_error: true } : {}),
    }))
    const said = [...thoughts, ...texts, ...named.map(({ block }) => block)]
    messages.push({ role: 'assistant', content: said.length > 0 ? said : [{ type: 'text', text: 'a' }] })
  }
  return [...messages, { role: 'user', content: [...results, { type: 'text', text: 'And?' }] }]
}

const tool = marked(
  fc.record({
    name,
    description: word,
    input_schema: fc.constant({ type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }),
  }),
)
const search = fc.constant({
  type: 'web_search_20250305',
  name: 'web_search',
  max_uses: 2,
  allowed_domains: ['a.example'],
})
const toolChoice = fc.constantFrom<JsonObject>(
  { type: 'auto' },
  { type: 'auto', disable_parallel_tool_use: true },
  { type: 'auto', disable_parallel_tool_use: false },
)
const tools = fc.oneof(
  fc.constant({}),
  fc.record({ tools: fc.tuple(tool, search), tool_choice: toolChoice }),
  fc.record({ tools: fc.tuple(tool, tool) }),
  fc.record({ tools: fc.tuple(tool, tool), tool_choice: fc.constant({ type: 'none' }) }),
)
const format = { type: 'json_schema', schema: { type: 'object', properties: {}, additionalProperties: false } }
const tuned = fc.constantFrom<JsonObject>(
  { temperature: 0.5, top_k: 3, thinking: { type: 'disabled' } },
  { top_p: 0.9, output_config: { format } },
  { thinking: { type: 'adaptive' }, output_config: { effort: 'low', format } },
  { thinking: { type: 'adaptive' } },
  {},
)
const more = fc.constantFrom<JsonObject>({}, { stop_sequences: ['END'], metadata: { user_id: 'u' } })
const system = fc.oneof(fc.constant({}), fc.record({ system: fc.array(text, { minLength: 1, maxLength: 2 }) }))

const body = fc
  .tuple(fc.array(exchange, { maxLength: 3 }), fc.integer({ min: 1, max: 9000 }), tools, tuned, more, system)
  .map(([exchanges, max_tokens, ...others]) => ({
    ...Object.assign({}, ...others),
    max_tokens,
    messages: messagesOf(exchanges),
  }))

t.test('a request read and written again means the same', async () => {
  const target = targetOf('claude-opus-4-6', opusSheet)
  fc.assert(
    fc.property(body, (asked: JsonObject) => {
      const plain = JSON.parse(JSON.stringify(asked)) as JsonObject
      const conversation = finishSteps(messagesClient.readRequest(plain, 'anthropic'))
      const written = finishSteps(
        messagesUpstream.writeRequest(conversation, target, { stream: true, outputCap: null }),
      )
      const expected = { ...plain, model: 'claude-opus-4-6', service_tier: 'standard_only', stream: true }
      assert.deepEqual(asSent(written.body), expected)
    }),
    { numRuns: 300 },
  )
})
