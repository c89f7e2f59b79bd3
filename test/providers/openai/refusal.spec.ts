import t from 'tap'
import { readOpenAIError } from '../../../src/providers/openai/refusal.ts'
import { targetOf } from './target.ts'

const { provider } = targetOf()
const read = (body: unknown) =>
  readOpenAIError(provider, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))

t.test('the shapes of an error', async (t) => {
  t.strictSame(
    read({ error: { message: 'Too long', code: 'context_length_exceeded', param: 'messages[1].content' } }),
    {
      message: 'Too long',
      code: 'context_length_exceeded',
      param: 'messages[1].content',
    },
  )
  t.strictSame(read([{ error: { code: 400, message: 'Bad', status: 'INVALID_ARGUMENT' } }]), {
    message: 'Bad',
    code: null,
    param: null,
  })
  t.match(read({ code: 'Client specified an invalid argument', error: 'Unknown field' }), { message: 'Unknown field' })
  t.match(read({ error: {} }), { message: 'The upstream provider refused the request.' })
})

t.test('what is no error of the dialect', async (t) => {
  for (const body of ['<html>', '', '{"detail":"Not Found"}', '[]', 'null']) t.equal(read(body), null)
})

t.test('our key and host are taken out', async (t) => {
  const message = `Wrong key ${provider.apiKey} at api.alpha.example, see ${provider.baseUrl}/docs`
  t.notMatch(read({ error: { message } })?.message, /sk-provider|alpha\.example/)
})
