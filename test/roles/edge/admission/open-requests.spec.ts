import t from 'tap'
import { OpenRequestCounter } from '../../../../src/roles/edge/admission/open-requests.ts'

const bounds = { openRequestsMax: 100, workspaceOpenRequestsMax: 100, openBytesMax: 800, workspaceOpenBytesMax: 300 }

t.test('a workspace has at most its bound of bytes, and no more than are free for the others', (t) => {
  const counter = new OpenRequestCounter(bounds)
  const fill = (workspaceId: string): number => {
    const { take } = counter.enter(workspaceId)
    const probe = counter.enter(workspaceId)
    for (let bytes = 0; ; bytes += 1)
      try {
        probe.take(0, 1)
        take(1)
      } catch {
        return bytes
      }
  }
  t.same(
    ['a', 'b', 'c', 'd', 'e'].map((each) => fill(each)),
    [300, 250, 125, 63, 31],
    'the next has half of what is free',
  )
  t.end()
})

t.test('what a refused request took is free at once: of two that arrive together, one is served', (t) => {
  const counter = new OpenRequestCounter(bounds)
  const [first, second] = [counter.enter('a'), counter.enter('a')]
  first.take(150)
  second.take(150)
  t.throws(() => first.take(1), { code: 'byte_limit_exceeded' })
  t.doesNotThrow(() => second.take(150))
  first.leave()
  t.throws(() => second.take(1), { code: 'byte_limit_exceeded' }, 'nothing is given back twice')
  t.end()
})

t.test('what a request took is free when it ends, and announced bytes are not taken', (t) => {
  const counter = new OpenRequestCounter(bounds)
  const first = counter.enter('a')
  first.take(0, 300)
  const second = counter.enter('a')
  second.take(300)
  t.throws(() => first.take(1), { code: 'byte_limit_exceeded' })
  second.leave()
  first.take(300)
  first.leave()
  t.doesNotThrow(() => counter.enter('a').take(300))
  t.end()
})
