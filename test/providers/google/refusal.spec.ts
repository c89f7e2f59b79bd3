import t from 'tap'
import { readGoogleError } from '../../../src/providers/google/refusal.ts'
import { targetOf } from './target.ts'

const { provider } = targetOf()
const read = (body: unknown) =>
  readGoogleError(provider, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))

const message = 'Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.'

t.test('an error, in a list or not', async (t) => {
  const error = { code: 400, message, status: 'INVALID_ARGUMENT' }
  t.strictSame(read({ error }), { message, code: 'INVALID_ARGUMENT', param: null })
  t.strictSame(read([{ error }]), { message, code: 'INVALID_ARGUMENT', param: null })
  t.match(read({ error: {} }), { message: 'The upstream provider refused the request.', code: null })
})

t.test('a quota names in its details when to repeat', async (t) => {
  const limitedBy = (details: unknown) =>
    read({ error: { code: 429, message: 'No.', status: 'RESOURCE_EXHAUSTED', details } })
  const quota = { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [] }
  const retry = (retryDelay: unknown) => ({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay })
  t.match(limitedBy([quota, retry('34.074824224s')]), { code: 'RESOURCE_EXHAUSTED', retryAfterMs: 34_075 })
  for (const details of [[quota], [retry('soon')], [retry(3)], 'none', undefined])
    t.notOk('retryAfterMs' in (limitedBy(details) ?? {}), JSON.stringify(details))
})

t.test('what is no error of the dialect', async (t) => {
  for (const body of ['<html>', '', '{"detail":"Not Found"}', '[]', 'null', '{"error":"no"}']) t.equal(read(body), null)
})

t.test('a request that is too long', async (t) => {
  const tooLong = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'
  t.match(read({ error: { code: 400, message: tooLong, status: 'INVALID_ARGUMENT' } }), {
    message: tooLong,
    code: 'context_length_exceeded',
  })
})

t.test('our account there is not the caller’s fault', async (t) => {
  const key = {
    code: 400,
    message: 'API key not valid. Please pass a valid API key.',
    status: 'INVALID_ARGUMENT',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
  }
  t.match(read({ error: key }), { code: 'invalid_api_key' })
  const billing = { code: 400, message: 'Please enable billing on project 1234.', status: 'FAILED_PRECONDITION' }
  t.equal(read({ error: billing }), null)
})

t.test('our key, host and project are taken out', async (t) => {
  const texts = [
    `Wrong key ${provider.apiKey} at generativelanguage.googleapis.example, see ${provider.baseUrl}/docs`,
    'POST /v1beta/models/x:generateContent?alt=sse&key=SecretOfOurs99 failed',
    "Consumer 'projects/1234567/locations/global' has no quota, project_number:1234567",
    'Quota exceeded for project 1234567',
  ]
  for (const text of texts)
    t.notMatch(read({ error: { message: text } })?.message, /AIza|googleapis|SecretOfOurs|1234567/, text)
})
