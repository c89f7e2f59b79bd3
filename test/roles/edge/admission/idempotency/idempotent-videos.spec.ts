import t from 'tap'
import type { ClaimedKey } from '../../../../../src/domain/idempotency/key.ts'
import { decodeKeyRecord, encodeKeyRecord } from '../../../../../src/roles/edge/admission/idempotency/key-record.ts'
import type { OutcomeAddress } from '../../../../../src/roles/edge/admission/idempotency/outcome-store.ts'
import { until } from '../../../../support/clients.ts'
import { workspaceId } from '../../edge-fixture.ts'
import { MemoryOutcomes } from '../../memory-outcomes.ts'
import { bodyOf, plainBody, plainNative, settledFact, startVideoEdge } from '../../video-fixture.ts'

const key = { 'idempotency-key': 'scene-7' }

/** Remembers the last place, so that a test can write there what a killed edge would leave. */
class WatchedOutcomes extends MemoryOutcomes {
  place: OutcomeAddress | null = null

  override put(place: OutcomeAddress, bytes: Uint8Array, revision: number) {
    this.place = place
    return super.put(place, bytes, revision)
  }

  /** As if the edge had died behind its last write, or before it answered. */
  async leaveBehind(claim: ClaimedKey): Promise<void> {
    if (this.place === null) throw new Error('nothing was claimed')
    const { revision } = await this.find(this.place)
    await this.put(this.place, encodeKeyRecord({ ...claim, leaseUntilMs: 1 }), revision)
  }
}

const surfaces = [
  ['/v1/video/generations', plainBody],
  ['/v1/videos', plainBody],
  ['/vv/v1/videos/text2video', plainNative],
] as const

for (const [path, body] of surfaces)
  t.test(`${path}: submitted once, answered in the same bytes`, async (t) => {
    const edge = await startVideoEdge(t)
    const first = await edge.post(body, key, path)
    const again = await edge.post(body, key, path)
    t.equal(first.status, 200)
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    t.equal(again.headers.get('content-type'), first.headers.get('content-type'))
    t.equal(await again.text(), await first.text())
    t.equal(edge.holds().length, 1)
    t.equal((await edge.post({ ...body, prompt: 'A dog.' }, key, path)).status, 422)
  })

t.test('the surface counts as a part of the request', async (t) => {
  const edge = await startVideoEdge(t)
  await edge.post(plainBody, key, '/v1/video/generations')
  t.equal((await edge.post(plainBody, key, '/v1/videos')).status, 422)
})

t.test('what is certain to be refused claims nothing, and a stored answer is replayed without money', async (t) => {
  const outcomes = new MemoryOutcomes()
  const poor = await startVideoEdge(t, { creditUsd: '0.1', outcomes })
  for (const name of ['scene-8', 'scene-9', 'scene-8'])
    t.equal((await poor.post(plainBody, { 'idempotency-key': name }, '/v1/videos')).status, 402)
  t.equal((await poor.post({ ...plainBody, model: 'absent' }, key, '/v1/videos')).status, 404)
  t.same([outcomes.puts, outcomes.all], [0, []])
  const rich = await startVideoEdge(t, { outcomes })
  t.equal((await rich.post(plainBody, key, '/v1/videos')).status, 200)
  t.equal((await poor.post(plainBody, key, '/v1/videos')).headers.get('idempotent-replayed'), 'true')
})

t.test('what was refused runs anew', async (t) => {
  const edge = await startVideoEdge(t, { creditUsd: '0.1' })
  t.equal((await edge.post(plainBody, key, '/v1/videos')).status, 402)
  await edge.log.postToWallet(workspaceId, [
    { type: 'WalletCredited', data: { workspaceId, amount: '1', reference: 'credit-2', note: '' } },
  ])
  await until(async () => (await edge.post(plainBody, key, '/v1/videos')).status === 200)
  t.equal(edge.holds().length, 1)
})

t.test('left behind before or after its hold, open or ended: one task', async (t) => {
  for (const left of ['claimed', 'held', 'ended'] as const) {
    const outcomes = new WatchedOutcomes()
    const edge = await startVideoEdge(t, { outcomes })
    if (left === 'claimed') outcomes.isFull = true
    const first = await edge.post(plainBody, key, '/v1/videos')
    outcomes.isFull = false
    const { id } = await bodyOf(first)
    const taskId = left === 'claimed' ? 'task_00000000000000000000000000000abc' : String(id)
    if (left === 'claimed') {
      t.equal(first.status, 503)
      await edge.post(plainBody, key, '/v1/videos')
    }
    if (left === 'ended') await edge.tell(settledFact(edge.openTask(taskId)))
    const held = edge.holds().length
    const standing = decodeKeyRecord((await outcomes.find(outcomes.place!)).bytes)!.record
    await outcomes.leaveBehind({
      state: 'claimed',
      requestId: 'first',
      holder: 'first',
      digest: standing.digest,
      work: { type: 'task', taskId },
      claimedMs: 0,
      leaseUntilMs: 0,
    })
    const again = await edge.post(plainBody, key, '/v1/videos')
    t.equal(again.status, 200)
    t.equal((await bodyOf(again))['id'], taskId)
    t.equal(edge.holds().length, left === 'claimed' ? held + 1 : held, left)
  }
})

t.test('with the log away in the middle: the task stays, and a repeat finds it', async (t) => {
  const edge = await startVideoEdge(t, { taskQueue: { put: async () => edge.log.stall() } })
  const refused = await edge.post(plainBody, key, '/v1/videos')
  t.equal(refused.status, 503)
  edge.log.resume()
  await until(() => edge.holds().length === 1)
  let again = await edge.post(plainBody, key, '/v1/videos')
  await until(async () => {
    if (again.status !== 200) again = await edge.post(plainBody, key, '/v1/videos')
    return again.status === 200
  })
  t.equal(edge.holds().length, 1)
  t.equal((await bodyOf(again))['id'], edge.holds()[0]?.data.holdId)
  t.notOk(edge.log.events.some(({ type }) => type === 'HoldReleased'))
})

t.test('a payload that a repeat of its submit may use is not withdrawn', async (t) => {
  const outcomes = new WatchedOutcomes()
  const edge = await startVideoEdge(t, { creditUsd: '0.84', outcomes })
  const submit = (headers = {}) => edge.post(plainBody, headers, '/v1/videos')
  t.equal((await submit(key)).status, 200)
  const { digest } = decodeKeyRecord((await outcomes.find(outcomes.place!)).bytes)!.record
  const taskId = 'task_00000000000000000000000000000abc'
  const claim = { state: 'claimed', requestId: 'first', holder: 'first', claimedMs: 0, leaseUntilMs: 0 } as const
  await outcomes.leaveBehind({ ...claim, digest, work: { type: 'task', taskId } })
  edge.log.stall()
  const other = submit()
  await until(() => edge.queued.size === 2)
  const repeat = submit(key)
  await until(() => edge.queued.has(taskId))
  const refused = submit({ 'idempotency-key': 'scene-8' })
  await until(() => edge.queued.size === 4)
  edge.log.resume()
  t.same([(await other).status, (await repeat).status, (await refused).status], [200, 402, 402])
  await until(() => edge.queued.size === 3)
  t.ok(edge.queued.has(taskId), 'another repeat may have queued it meanwhile')
})
