import t from 'tap'
import { sandboxLimits } from '../../../sandbox/answers/limits.ts'
import { type Stored, StoredResponses } from '../../../sandbox/responses/stored.ts'

const stored = (id: string, previousId: string | null = null, text = 'x'): Stored => ({
  id,
  text,
  input: [{ type: 'message', id: `in_${id}` }],
  output: [{ type: 'message', id: `out_${id}` }],
  previousId,
})

t.test('a conversation is what its responses hold', async (t) => {
  const responses = new StoredResponses()
  responses.put(stored('a'))
  responses.put(stored('b', 'a'))
  responses.put(stored('c', 'b'))
  const ids = (id: string): readonly unknown[] => responses.conversation(id).map((item) => item['id'])
  t.strictSame(ids('c'), ['in_a', 'out_a', 'in_b', 'out_b', 'in_c', 'out_c'])
  t.strictSame(ids('nobody'), [])
  t.match(responses.item('out_b'), { id: 'out_b' })
  t.equal(responses.item('out_x'), undefined)
  t.equal(responses.delete('b'), true)
  t.equal(responses.delete('b'), false)
  t.strictSame(ids('c'), ['in_c', 'out_c'])
})

t.test('the oldest goes when there are too many, or too much', async (t) => {
  const responses = new StoredResponses()
  for (let index = 0; index <= sandboxLimits.sandboxResponsesStoredMax; index += 1) responses.put(stored(`r${index}`))
  t.equal(responses.get('r0'), undefined)
  t.ok(responses.get('r1'))
  const half = 'x'.repeat(sandboxLimits.sandboxResponsesStoredCharactersMax / 2)
  responses.put(stored('large', null, half))
  responses.put(stored('larger', null, half))
  t.equal(responses.get('large'), undefined)
  t.ok(responses.get('larger'))
  responses.reset()
  t.equal(responses.get('larger'), undefined)
})
