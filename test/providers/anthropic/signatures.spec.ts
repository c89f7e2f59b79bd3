import t from 'tap'
import { asObject, isObject, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import { anthropicMessages } from '../../../src/providers/anthropic/dialect.ts'
import type { Target } from '../../../src/providers/dialect/dialect.ts'
import { asSent } from '../../support/as-sent.ts'
import { answerBytes } from '../answer-bytes.ts'
import { askedOf, streamOf, targetOf } from './target.ts'

const atBeta: Target = { ...targetOf(), provider: { ...targetOf().provider, name: 'beta one' } }

const signature = 'c2ln+/bmF0dXJl=='
const thought = { type: 'thinking', thinking: 'hm', signature }
const hidden = { type: 'redacted_thinking', data: 'aGlkZGVu' }
const compaction = { type: 'compaction', content: 'They greeted.', encrypted_content: 'c3Vt', signature: 'c3Vtc2ln' }
/** The caller's own input may have any member, and any text. */
const call = { type: 'tool_use', id: 'toolu_1', name: 'sign', input: { signature, data: 'aGlkZGVu', big: '@' } }
const usage = { input_tokens: 5, output_tokens: 2 }
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', usage }

const wholeBytes = (content: readonly JsonObject[]): Uint8Array =>
  Buffer.from(JSON.stringify({ ...message, content }).replace('"@"', '12345678901234567890'))

const answered = (target: Target, content: readonly JsonObject[]): string => {
  const bytes = wholeBytes(content)
  const answer = anthropicMessages.readAnswer(target, askedOf(), bytes)
  if ('fault' in answer) throw new Error(answer.fault)
  return answerBytes(answer.body ?? bytes).toString()
}

const contentOf = (json: string): readonly JsonObject[] => {
  const { content } = asObject(parseJson(json))
  return Array.isArray(content) ? content.filter(isObject) : []
}

const streamed = (target: Target, events: readonly JsonObject[]): string => {
  const relay = anthropicMessages.openRelay(target, askedOf({}, true))
  const start = streamOf([{ type: 'message_start', message: { ...message, content: [] } }])
  return [relay.push(Buffer.from(start + streamOf(events))), relay.end()]
    .map((bytes) => Buffer.from(bytes ?? '').toString())
    .join('')
}

const sentBack = (target: Target, content: readonly JsonObject[], more: JsonObject = {}): JsonObject => {
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }] },
  ]
  return asSent(anthropicMessages.buildRequest(target, askedOf({ messages, ...more })).body)
}

const assistantContent = ({ messages }: JsonObject): unknown =>
  (Array.isArray(messages) ? messages.map(asObject) : []).find(({ role }) => role === 'assistant')?.['content']

t.test('what a provider signs is marked with its name, in a whole answer', async (t) => {
  const content = [thought, hidden, compaction, call]
  const json = answered(atBeta, content)
  const mark = 'gw1:beta%20one%2F%2Fclaude:'
  t.match(contentOf(json), [
    { thinking: 'hm', signature: `${mark}${signature}` },
    { data: `${mark}aGlkZGVu` },
    { content: 'They greeted.', encrypted_content: `${mark}c3Vt`, signature: `${mark}c3Vtc2ln` },
    { input: { data: 'aGlkZGVu' } },
  ])
  t.match(json, '12345678901234567890', 'the bytes are otherwise those of the provider')
  const plain = wholeBytes([call])
  t.equal(answered(atBeta, [call]), Buffer.from(plain).toString())
})

t.test('and in a stream', async (t) => {
  const text = streamed(atBeta, [
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature } },
    { type: 'content_block_start', index: 1, content_block: hidden },
    {
      type: 'content_block_delta',
      index: 2,
      delta: { type: 'compaction_delta', content: 'x', encrypted_content: 'c3Vt' },
    },
    { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '{"signature":"a"}' } },
  ])
  t.match(text, `"signature":"gw1:beta%20one%2F%2Fclaude:${signature}"`)
  t.match(text, '"data":"gw1:beta%20one%2F%2Fclaude:aGlkZGVu"')
  t.match(text, '"encrypted_content":"gw1:beta%20one%2F%2Fclaude:c3Vt"')
  t.equal(text.split('gw1:').length, 4)
})

t.test('it goes back to the provider that made it as it was, and to no other', async (t) => {
  const content = contentOf(answered(atBeta, [thought, hidden, compaction, { ...call, input: {} }]))
  const bare = { ...call, input: {} }
  t.strictSame(assistantContent(sentBack(atBeta, content)), [thought, hidden, compaction, bare])
  t.strictSame(assistantContent(sentBack(targetOf(), content)), [{ type: 'text', text: 'They greeted.' }, bare])
  t.strictSame(
    assistantContent(sentBack(targetOf(), [thought, bare])),
    [thought, bare],
    'without a mark: of a history from before there were marks',
  )
})

t.test('a tool loop whose thinking another provider has goes on without a budget', async (t) => {
  const thinking = { type: 'enabled', budget_tokens: 1024 }
  const content = contentOf(answered(atBeta, [thought, { ...call, input: {} }]))
  const more = { thinking, max_tokens: 2_000 }
  t.strictSame(sentBack(atBeta, content, more)['thinking'], thinking)
  t.strictSame(sentBack(targetOf(), content, more)['thinking'], { type: 'disabled' })
  const adaptive = { type: 'adaptive' }
  t.strictSame(sentBack(targetOf(), content, { thinking: adaptive })['thinking'], adaptive)
})

t.test('citations that another model’s search made are left out', async (t) => {
  const sealed = { type: 'web_search_result_location', url: 'u', title: 't', cited_text: 'c', encrypted_index: 'e' }
  const text = (...citations: readonly JsonObject[]): JsonObject => ({ type: 'text', text: 'a', citations })
  const unsealed = { ...sealed, encrypted_index: '' }
  t.strictSame(assistantContent(sentBack(targetOf(), [text(sealed, unsealed), text(unsealed)])), [
    text(sealed),
    { type: 'text', text: 'a' },
  ])
})
