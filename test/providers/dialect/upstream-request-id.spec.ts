import t from 'tap'
import type { Provider } from '../../../src/providers/dialect/provider.ts'
import { readUpstreamRequestId } from '../../../src/providers/dialect/upstream-request-id.ts'

const provider: Provider = {
  name: 'openai',
  dialect: 'openai',
  profile: 'openai',
  baseUrl: 'https://api.example/v1',
  apiKey: 'topsecretvalue0123',
  headers: { 'x-team': 'team-secret-77' },
}

type Headers = Readonly<Record<string, string | string[]>>

const cases: readonly (readonly [what: string, headers: Headers, id: string | null])[] = [
  ['OpenAI', { 'x-request-id': 'req_011CSHoEeqs5C35K2UUqR7Fy' }, 'req_011CSHoEeqs5C35K2UUqR7Fy'],
  ['Anthropic', { 'request-id': 'req_018EeWyXxfu5pfWkrYcMdjWG' }, 'req_018EeWyXxfu5pfWkrYcMdjWG'],
  ['Bedrock', { 'x-amzn-requestid': '5d1b6c0e-8f7e-4f4c-9a4e-2f6ad7c1a7a0' }, '5d1b6c0e-8f7e-4f4c-9a4e-2f6ad7c1a7a0'],
  ['Azure: what its support asks for', { 'x-request-id': 'edge-1', 'apim-request-id': 'apim-2' }, 'apim-2'],
  ['Mistral', { 'mistral-correlation-id': '0198-aa' }, '0198-aa'],
  ['none', { 'content-type': 'application/json' }, null],
  ['several values', { 'x-request-id': ['first', 'second'] }, 'first'],
  ['spaces around', { 'x-request-id': ' req_1 ' }, 'req_1'],
  ['the longest', { 'x-request-id': 'a'.repeat(128) }, 'a'.repeat(128)],
  ['too long', { 'x-request-id': 'a'.repeat(129) }, null],
  ['empty', { 'x-request-id': '' }, null],
  ['words', { 'x-request-id': 'the prompt was: hello' }, null],
  ['markup', { 'x-request-id': '<script>' }, null],
  ['control characters', { 'x-request-id': 'a\u0007b' }, null],
  ['our key', { 'x-request-id': 'id-topsecretvalue0123' }, null],
  ['a header of ours', { 'x-request-id': 'team-secret-77' }, null],
  ['a key of anybody', { 'x-request-id': 'sk-proj-abcdef0123456789' }, null],
  ['an invalid one before a valid one', { 'request-id': 'no id', 'x-request-id': 'req_2' }, 'req_2'],
]

for (const [what, headers, id] of cases)
  t.test(what, async (t) => {
    t.equal(readUpstreamRequestId(provider, headers), id)
  })
