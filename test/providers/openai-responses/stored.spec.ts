import t from 'tap'
import { storedIdOf, storedResponseRequest } from '../../../src/providers/openai-responses/stored.ts'
import { targetOf } from '../openai/target.ts'

const { provider } = targetOf()

t.test('the request for a response that is kept', async (t) => {
  const asked = { responseId: 'resp_1', query: 'include=a&include=b%26c' }
  t.strictSame(storedResponseRequest(provider, asked), {
    url: 'https://api.alpha.example/v1/responses/resp_1?include=a&include=b%26c',
    headers: { authorization: 'Bearer sk-provider-key-123456', accept: 'application/json' },
  })
  const slashed = { ...provider, baseUrl: `${provider.baseUrl}/`, headers: { 'x-team': 't' } }
  t.match(storedResponseRequest(slashed, { responseId: 'a/../b?c', query: '' }), {
    url: 'https://api.alpha.example/v1/responses/a%2F..%2Fb%3Fc',
    headers: { 'x-team': 't' },
  })
})

t.test('only OpenAI and xAI keep responses', async (t) => {
  const asked = { responseId: 'resp_1', query: '' }
  t.doesNotThrow(() => storedResponseRequest({ ...provider, profile: 'xai' }, asked))
  for (const other of [{ profile: 'gemini' }, { dialect: 'anthropic' }, { dialect: 'google' }] as const)
    t.throws(() => storedResponseRequest({ ...provider, ...other }, asked), { code: 'not_implemented' })
})

t.test('the id of an answer that is kept', async (t) => {
  const table: readonly [unknown, boolean | undefined, boolean | undefined, string | null][] = [
    ['resp_0a-B', undefined, undefined, 'resp_0a-B'],
    ['resp_1', true, true, 'resp_1'],
    ['resp_1', false, undefined, null],
    ['resp_1', undefined, false, null],
    ['', undefined, undefined, null],
    [7, undefined, undefined, null],
    ['resp 1', undefined, undefined, null],
    ['../resp', undefined, undefined, null],
    ['r'.repeat(256), undefined, undefined, 'r'.repeat(256)],
    ['r'.repeat(257), undefined, undefined, null],
  ]
  for (const [id, asked, told, expected] of table) t.equal(storedIdOf({ store: asked }, { id, store: told }), expected)
})
