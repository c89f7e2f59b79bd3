import t from 'tap'
import { readMessagesError } from '../../../src/providers/anthropic/refusal.ts'
import { targetOf } from './target.ts'

const { provider } = targetOf()
const read = (body: unknown) =>
  readMessagesError(provider, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
const errorOf = (type: string, message: string) => ({ type: 'error', error: { type, message }, request_id: 'req_1' })

t.test('the shapes of an error', async (t) => {
  t.strictSame(read(errorOf('invalid_request_error', 'messages.0: bad')), {
    message: 'messages.0: bad',
    code: 'invalid_request_error',
    param: null,
  })
  const long = errorOf('invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum')
  t.match(read(long), { code: 'context_length_exceeded' })
  const detailed = { type: 'error', error: { type: 'x', message: 'm', details: { error_code: 'tool_name_conflict' } } }
  t.match(read(detailed), { code: 'tool_name_conflict' })
  t.match(read({ type: 'error', error: {} }), { message: 'The upstream provider refused the request.' })
})

t.test('what is no error of the dialect', async (t) => {
  for (const body of ['<html>', '', '{"detail":"Not Found"}', '[]', 'null', '{"error":"no"}']) t.equal(read(body), null)
})

t.test('our key and host are taken out', async (t) => {
  const message = `Wrong key ${provider.apiKey} at api.alpha.example, see ${provider.baseUrl}/docs`
  t.notMatch(read(errorOf('not_found_error', message))?.message, /sk-ant|alpha\.example/)
})
