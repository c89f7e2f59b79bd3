import t from 'tap'
import { cancelAtOnce } from '../../../../src/roles/dispatch.ts'
import { AbortedStreams } from '../../../../src/roles/edge/admission/open-requests.ts'

t.test('of a workspace only so many are read on', async (t) => {
  const aborted = new AbortedStreams(2)
  const follow = (workspaceId: string) => {
    const client = new AbortController()
    const { gone, end } = aborted.follow(workspaceId, client.signal)
    return { client, gone, end, mayReadOn: () => gone.aborted && gone.reason !== cancelAtOnce }
  }
  const [one, two, three, other, staying] = ['a', 'a', 'a', 'b', 'a'].map(follow)
  for (const { client } of [one!, two!, three!, other!]) client.abort()
  t.same(
    [one!, two!, three!, other!].map(({ mayReadOn }) => mayReadOn()),
    [true, true, false, true],
  )
  t.notOk(staying!.gone.aborted)
  three!.end()
  const fourth = follow('a')
  fourth.client.abort()
  t.notOk(fourth.mayReadOn(), 'one that was not read on leaves no room')
  one!.end()
  one!.end()
  const next = follow('a')
  next.client.abort()
  t.ok(next.mayReadOn())
  const last = follow('a')
  last.client.abort()
  t.notOk(last.mayReadOn(), 'an end counts once')
  staying!.end()
  staying!.client.abort()
  t.notOk(staying!.gone.aborted, 'an answer that has ended is not left')
})

t.test('a client that left before', async (t) => {
  const aborted = new AbortedStreams(1)
  const { gone, end } = aborted.follow('a', AbortSignal.abort())
  t.ok(gone.aborted)
  t.not(gone.reason, cancelAtOnce)
  end()
})
