import t from 'tap'
import { cancelAtOnce } from '../../../../src/roles/dispatch.ts'
import { AbortedStreams } from '../../../../src/roles/edge/admission/open-requests.ts'
import { sharedLimits } from '../../../../src/runtime/limits.ts'
import { until } from '../../../support/clients.ts'

t.test('of a workspace only so many are read on', async (t) => {
  const aborted = new AbortedStreams(2)
  const follow = (workspaceId: string) => {
    const client = new AbortController()
    const { gone, end } = aborted.follow(workspaceId, client.signal)
    return { client, gone, end, mayReadOn: () => gone.aborted && gone.reason !== cancelAtOnce }
  }
  const [one, two, three, other, staying] = ['a', 'a', 'a', 'b', 'a'].map(follow)
  const leave = async ({ client, gone }: ReturnType<typeof follow>): Promise<void> => {
    client.abort()
    await until(() => gone.aborted)
  }
  for (const each of [one!, two!, three!, other!]) await leave(each)
  t.same(
    [one!, two!, three!, other!].map(({ mayReadOn }) => mayReadOn()),
    [true, true, false, true],
  )
  t.notOk(staying!.gone.aborted)
  three!.end()
  const fourth = follow('a')
  await leave(fourth)
  t.notOk(fourth.mayReadOn(), 'one that was not read on leaves no room')
  one!.end()
  one!.end()
  const next = follow('a')
  await leave(next)
  t.ok(next.mayReadOn())
  const last = follow('a')
  await leave(last)
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

t.test('of clients that leave together not all are followed up in one turn', async (t) => {
  const aborted = new AbortedStreams(100)
  const clients = Array.from({ length: 100 }, () => new AbortController())
  const followed = clients.map(({ signal }) => aborted.follow('a', signal))
  for (const client of clients) client.abort()
  t.ok(followed.filter(({ gone }) => gone.aborted).length <= sharedLimits.stepsPerTurn)
  const [ended, settled] = followed.slice(-2)
  ended!.end()
  settled!.settle()
  t.ok(settled!.gone.aborted, 'at once, where its answer is not read any more')
  await until(() => followed.slice(0, -2).every(({ gone }) => gone.aborted))
  t.notOk(ended!.gone.aborted)
  for (const { end } of followed) end()
})
