import { readFile } from 'node:fs/promises'
import t from 'tap'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { readConverseReply } from '../../../src/providers/bedrock/read-reply.ts'
import { readBedrockError } from '../../../src/providers/bedrock/refusal.ts'
import { readConverseUsage } from '../../../src/providers/bedrock/usage.ts'
import { targetOf } from './target.ts'

const recorded = JSON.parse(await readFile(new URL('recorded/answers.json', import.meta.url), 'utf8')) as Readonly<
  Record<'cacheWritten' | 'cacheRead' | 'toolCall' | 'thinking' | 'invalidModel', JsonObject>
>
const target = targetOf()

t.test('the prompt is what was sent, read from the cache and written to it, as recorded', async (t) => {
  for (const [answer, expected] of [
    [
      recorded.cacheWritten,
      { inputUncached: 2, cacheRead: 0, cacheWrite5m: 1_322, promptTotal: 1_324, outputTotal: 5 },
    ],
    [recorded.cacheRead, { inputUncached: 2, cacheRead: 1_322, cacheWrite5m: 0, promptTotal: 1_324, outputTotal: 5 }],
  ] as const) {
    const reply = readConverseReply(target, answer)
    t.match(reply, { stop: 'end', parts: [{ type: 'text', text: '21' }], usage: expected })
    const { totalTokens } = answer['usage'] as { readonly totalTokens: number }
    t.equal(expected.promptTotal + expected.outputTotal, totalTokens, 'which is what Bedrock adds up')
  }
  const read = readConverseUsage(recorded.cacheRead['usage'], undefined)
  // 2 × 1 + 1,322 × 0.1 + 5 × 4 dollars per million.
  t.equal(chargeFor(target.sheet, read!).totalPicos, 154_200_000n)
})

t.test('lifetimes of the cache, tiers, and what is no usage', async (t) => {
  const usage = { inputTokens: 1, outputTokens: 2, cacheWriteInputTokens: 30 }
  const cacheDetails = [
    { ttl: '1h', inputTokens: 20 },
    { ttl: '5m', inputTokens: 10 },
  ]
  t.match(readConverseUsage({ ...usage, cacheDetails }, { type: 'default' }), {
    cacheWrite1h: 20,
    cacheWrite5m: 10,
    promptTotal: 31,
  })
  t.match(readConverseUsage(usage, { type: 'priority' }), { cacheWrite5m: 30, serviceTier: 'priority' })
  t.match(readConverseUsage({ ...usage, outputTokens: -2 }, undefined), { negative: { outputTokens: -2 } })
  for (const raw of [undefined, null, {}, { inputTokens: 1 }, { inputTokens: 'x', outputTokens: 1 }])
    t.equal(readConverseUsage(raw, undefined), null)
})

t.test('calls, thinking and unknown blocks, as recorded', async (t) => {
  t.match(readConverseReply(target, recorded.toolCall), {
    stop: 'tool_calls',
    parts: [{ type: 'tool_call', name: 'temperature', arguments: '{"city":"London","date":"2022-01-01"}' }],
    usage: { promptTotal: 571, outputTotal: 22 },
  })
  t.match(readConverseReply(target, recorded.thinking), {
    parts: [{ type: 'thinking', signature: /^Eu4CCkgI/ }, { type: 'text' }],
  })
  const content = [{ somethingNew: {} }, { citationsContent: { content: [{ text: 'cited' }] } }]
  t.match(readConverseReply(target, { output: { message: { content } }, stopReason: 'guardrail_intervened' }), {
    stop: 'filtered',
    parts: [{ type: 'text', text: 'cited' }],
    usage: null,
  })
  t.same(readConverseReply(target, { message: 'x' }), { fault: 'no_content' })
})

t.test('errors: ours, and those of the request', async (t) => {
  const read = (json: unknown) => readBedrockError(target.provider, Buffer.from(JSON.stringify(json)))
  const onDemand =
    'Invocation of model ID x with on-demand throughput isn’t supported. Retry with an inference profile.'
  const quota = 'Your request exceeds the service quota for your account.'
  for (const message of [recorded.invalidModel['message'], onDemand, quota, '']) t.equal(read({ message }), null)
  t.match(read({ message: 'Input is too long for requested model.' }), { code: 'context_length_exceeded' })
  t.match(read({ Message: '1 validation error detected' }), { message: '1 validation error detected', code: null })
  const arn = read({ message: 'wrong: arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.x' })
  t.notMatch(arn?.message, /123456789012/)
  t.equal(readBedrockError(target.provider, Buffer.from('<html>')), null)
})
