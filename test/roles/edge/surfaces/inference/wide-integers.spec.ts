import t from 'tap'
import { startEdge } from '../../edge-fixture.ts'

/** 2^53 + 1: it is read into an object of a class of its own. */
const wide = '9007199254740993'
const user = '[{"role":"user","content":"Hi"}]'

t.test('an integer beyond 2^53 is no object', async (t) => {
  const { post, calls } = await startEdge(t)
  const rows: readonly (readonly [path: string, body: string, member: string])[] = [
    ['/v1/chat/completions', `{"model":"openai/plain","messages":${user},"metadata":${wide}}`, 'metadata'],
    ['/v1/chat/completions', `{"model":"openai/plain","messages":${user},"stream_options":${wide}}`, 'stream_options'],
    ['/v1/responses', `{"model":"openai/plain","input":"Hi","metadata":${wide}}`, 'metadata'],
    [
      '/v1beta/models/openai/plain:generateContent',
      `{"contents":[{"parts":[{"text":"Hi"}]}],"generationConfig":${wide}}`,
      'generationConfig',
    ],
  ]
  for (const [path, body, member] of rows) {
    const response = await post(body, {}, path)
    const text = await response.text()
    t.equal(response.status, 400, `${path} ${text}`)
    t.match(text, member, path)
  }
  t.equal(calls.length, 0)
  const seeded = await post(`{"model":"openai/plain","messages":${user},"seed":${wide}}`)
  t.equal(seeded.status, 200, 'where an integer is expected it passes')
})
