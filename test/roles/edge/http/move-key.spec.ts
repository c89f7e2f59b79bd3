import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { moveKeyToHeader } from '../../../../src/roles/edge/http/middleware.ts'

const moved = (url: string, header?: string): readonly unknown[] => {
  const request = new IncomingMessage(new Socket())
  request.url = url
  if (header !== undefined) request.headers['x-goog-api-key'] = header
  moveKeyToHeader(request)
  return [request.url, request.headers['x-goog-api-key']]
}

t.test('a key in the address is moved out of it', (t) => {
  const path = '/v1beta/models/openai/plain:generateContent'
  t.same(moved(`${path}?key=sk-a`), [path, 'sk-a'])
  t.same(moved(`${path}?alt=sse&key=sk-a&x=1`), [`${path}?alt=sse&x=1`, 'sk-a'])
  t.same(moved(`${path}?key=sk-a&key=sk-b`), [path, 'sk-a'], 'each of several is removed')
  t.same(moved(`${path}?k%65y=sk-a`), [path, 'sk-a'], 'however it is written')
  t.same(moved(`${path}?key=sk-a`, 'sk-h'), [path, 'sk-h'], 'the header has precedence')
  t.same(moved(`http://gateway.test${path}?key=sk-a`), [`http://gateway.test${path}`, 'sk-a'], 'as proxies send it')
  t.same(moved('/v1/models?key=sk-a'), ['/v1/models', 'sk-a'])
  t.same(moved('/v1/chat/completions?key=sk-a'), ['/v1/chat/completions?key=sk-a', undefined])
  t.end()
})
