import t from 'tap'
import { finishSteps } from '../../../src/encoding/steps.ts'
import { countTokensRequest, readTokenCount } from '../../../src/providers/anthropic/count-tokens.ts'
import { asSent } from '../../support/as-sent.ts'
import { askedOf, targetOf } from './target.ts'

t.test('the request is the body without what only an answer needs', async (t) => {
  const { body } = askedOf({ stream: true, temperature: 1, metadata: {}, system: 'Be brief', tools: [] }, true)
  const request = finishSteps(countTokensRequest(targetOf(), { body, headers: { 'anthropic-beta': 'b' } }))
  t.equal(request.url, 'https://api.alpha.example/v1/messages/count_tokens')
  t.match(request.headers, { 'x-api-key': 'sk-ant-provider-key-123456', 'anthropic-beta': 'b' })
  t.strictSame(asSent(request.body), {
    model: 'claude-sonnet-4-5',
    messages: [{ role: 'user', content: 'Say hi' }],
    system: 'Be brief',
    tools: [],
  })
})

t.test('the count', async (t) => {
  t.strictSame(readTokenCount(Buffer.from('{"input_tokens":2095}')), { inputTokens: 2095 })
  t.strictSame(readTokenCount(Buffer.from('<html>')), { fault: 'not_json' })
  for (const body of ['{}', '{"input_tokens":-1}', '{"input_tokens":"3"}'])
    t.strictSame(readTokenCount(Buffer.from(body)), { fault: 'no_count' })
})
