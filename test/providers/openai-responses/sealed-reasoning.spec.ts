import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Target } from '../../../src/providers/dialect/dialect.ts'
import {
  openSealedReasoning,
  type SealedReasoning,
  sealReasoning,
  withMarks,
  withoutMarks,
} from '../../../src/providers/openai-responses/sealed-reasoning.ts'
import { targetOf } from '../openai/target.ts'

const text = fc.string({ unit: 'grapheme' })
/** Behind a slash it has the deployment, and the configuration takes no name with one. */
const name = text.filter((each) => !each.includes('/'))
const plain = { noNullPrototype: true }
const sealed = fc.oneof(
  fc.record({ type: fc.constant('thinking' as const), text, signature: text }, plain),
  fc.record({ type: fc.constant('redacted_thinking' as const), data: text }, plain),
  fc.record({ type: fc.constant('call_signature' as const), callId: text, signature: text }, plain),
)

t.test('only its own provider opens it', async () => {
  fc.assert(
    fc.property(sealed, name, name, (reasoning: SealedReasoning, provider, other) => {
      assert.deepEqual(openSealedReasoning(provider, sealReasoning(provider, reasoning)), reasoning)
      if (other !== provider) assert.equal(openSealedReasoning(other, sealReasoning(provider, reasoning)), null)
    }),
  )
})

const madeBy = (name: string): Target => {
  const target = targetOf()
  return { ...target, provider: { ...target.provider, name, baseUrl: 'https://api.openai.com/v1' } }
}

t.test('what a provider encrypted is marked in its answer, and goes back to it alone', async (t) => {
  const said = '"encrypted_content": "no"'
  const answer = {
    text: said,
    output: [{ encrypted_content: 'gAAAA==' }, { encrypted_content: '' }, { encrypted_content: null }],
  }
  for (const spaces of [0, 2]) {
    const written = JSON.stringify(answer, null, spaces)
    const marked = JSON.parse(Buffer.from(withMarks(madeBy('openai'), Buffer.from(written))).toString())
    t.same(marked, { ...answer, output: [{ encrypted_content: 'gw1:openai:gAAAA==' }, ...answer.output.slice(1)] })
  }
  const plain = Buffer.from('{"text":"Grüße"}')
  t.equal(withMarks(madeBy('openai'), plain), plain)
  const umlauts = Buffer.from('{"text":"Grüße","encrypted_content":"a"}')
  t.equal(
    Buffer.from(withMarks(madeBy('ö'), umlauts)).toString(),
    '{"text":"Grüße","encrypted_content":"gw1:%C3%B6:a"}',
  )

  const reasoning = (content: string) => ({ type: 'reasoning', summary: [], encrypted_content: content })
  const input = [
    { role: 'user', content: 'Hi' },
    reasoning('gw1:openai:gAAAA=='),
    reasoning('gw1:grok:xyz'),
    reasoning('old'),
  ]
  t.same(withoutMarks('openai', input), [input[0], reasoning('gAAAA=='), reasoning('old')])
  t.same(withoutMarks('grok', input), [input[0], reasoning('xyz'), reasoning('old')])
  t.equal(withoutMarks('grok', 'Hi'), 'Hi')
  const compaction = [{ type: 'compaction', encrypted_content: 'gw1:openai:a' }]
  t.same(withoutMarks('openai', compaction), [{ type: 'compaction', encrypted_content: 'a' }])
  t.throws(() => withoutMarks('grok', compaction), { code: 'unsupported_parameter', param: 'input[0]' })
})

t.test('nothing else is opened', async (t) => {
  for (const content of [undefined, null, 1, '', 'gAAAA==', 'gw1:', 'gw1:a:', 'gw1:a:e30', 'gw1:a:bm8', 'gw1:a:W10'])
    t.equal(openSealedReasoning('a', content), null, String(content))
  const partial = Buffer.from('{"type":"thinking","text":"x"}').toString('base64url')
  t.equal(openSealedReasoning('a', `gw1:a:${partial}`), null)
})
