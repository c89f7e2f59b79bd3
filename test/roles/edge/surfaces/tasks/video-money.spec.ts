import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { findOrCreateWallet } from '../../../../../src/domain/ledger/ledger.ts'
import { openTask } from '../../../../../src/domain/video/task.ts'
import { balancePicos } from '../../../../../src/domain/wallet/wallet.ts'
import { logUnavailable } from '../../../../../src/errors/gateway-error.ts'
import type { Fact } from '../../../../../src/events/envelope.ts'
import { admissionLimits } from '../../../../../src/roles/edge/admission/limits.ts'
import { sharedLimits } from '../../../../../src/runtime/limits.ts'
import { until } from '../../../../support/clients.ts'
import { type EdgeOptions, errorOf, plainAsk, secret, workspaceId } from '../../edge-fixture.ts'
import { bodyOf, plainBody, settledFact, startVideoEdge, submitted, type VideoEdge } from '../../video-fixture.ts'

const generations = '/v1/video/generations'

const heldForChat = (holdId: string, amount: string): Fact => ({
  type: 'HoldPlaced',
  data: { holdId, workspaceId, purpose: 'allowance', amount, deadline: '2099-01-01T00:00:00Z', owner: 'another-edge' },
})

const given = (holdId: string): Fact => ({ type: 'HoldReleased', data: { holdId, workspaceId, reason: 'returned' } })

/** An edge with an allowance for chat that another edge holds. */
const withSlice = async (
  t: Test,
  creditUsd: string,
  allowanceUsd: string,
  options: EdgeOptions = {},
): Promise<VideoEdge> => {
  const edge = await startVideoEdge(t, { creditUsd, ...options })
  const { sequence } = await edge.log.postToWallet(workspaceId, [heldForChat('allowance', allowanceUsd)])
  await edge.tail.waitForSequence(sequence)
  return edge
}

/** The log counts as stalled only after a while, however slowly the requests come. */
const stalledSoonMs = (): number => Date.now() + 60_000

t.test('sixty at once, money for exactly thirty: exactly thirty', async (t) => {
  const edge = await startVideoEdge(t, { creditUsd: '12.6' })
  edge.log.stall(stalledSoonMs())
  const asked = Array.from({ length: 60 }, () => edge.post(plainBody, {}, generations))
  await until(() => edge.queued.size === 60)
  edge.log.resume()
  const answers = await Promise.all(asked)
  const ids = new Set<unknown>()
  const refusals: string[] = []
  for (const response of answers)
    if (response.status === 200) ids.add((await bodyOf(response))['id'])
    else refusals.push(`${response.status} ${(await errorOf(response)).code}`)
  t.equal(ids.size, 30)
  t.same(new Set(refusals), new Set(['402 insufficient_user_quota']))
  t.equal(edge.holds().length, 30)
  t.equal(edge.availableUsd(), '0')
  for (const { data } of edge.holds()) t.ok(ids.has(data.holdId) && edge.queued.has(data.holdId))
  t.equal(edge.queued.size, 30, 'of those that were refused nothing is kept')
  const frames = edge.log.frames.filter(({ events }) => events.some(({ type }) => type === 'HoldPlaced'))
  t.ok(frames.length <= 4, `those that wait are decided together: ${frames.length} frames`)
})

t.test('a wallet that cannot cover is told at once, with what is needed and what is there', async (t) => {
  const edge = await startVideoEdge(t, { creditUsd: '0.41' })
  const response = await edge.post(plainBody, {}, generations)
  const error = await errorOf(response)
  t.match(
    { status: response.status, ...error },
    { status: 402, code: 'insufficient_user_quota', type: 'insufficient_quota' },
  )
  t.match(error.message, /0\.42 USD.*0\.41 USD/)
  t.equal(edge.queued.size, 0, 'nothing was queued')
  const cheaper = await edge.post({ ...plainBody, duration: 3 }, {}, generations)
  t.equal(cheaper.status, 200)
})

t.test('what a task gives back pays for the next', async (t) => {
  const edge = await startVideoEdge(t, { creditUsd: '0.5' })
  const taskId = await submitted(edge)
  t.equal((await edge.post(plainBody, {}, generations)).status, 402)
  await edge.tell(settledFact(edge.openTask(taskId), { outcome: 'FAILURE', results: [], failReason: 'x' }))
  t.ok(await submitted(edge))
})

t.test('requests of open tasks have a bound in bytes, of each workspace by itself', async (t) => {
  const edge = await startVideoEdge(t, { bounds: { openPayloadBytesMax: 2_000 } })
  const large = { ...plainBody, prompt: 'p'.repeat(1_200) }
  const first = await edge.post(large, {}, generations)
  t.equal(first.status, 200)
  const refused = await edge.post(large, {}, generations)
  t.match([refused.status, await errorOf(refused)], [429, { code: 'byte_limit_exceeded' }])
  t.equal(edge.queued.size, 1)
  t.equal((await edge.post(plainBody, {}, generations)).status, 200, 'a small one has room')
  await edge.tell(settledFact(edge.openTask(String((await bodyOf(first))['id']))))
  t.equal((await edge.post(large, {}, generations)).status, 200, 'as soon as one has ended')
})

t.test('money in allowances for chat is waited for', async (t) => {
  const edge = await withSlice(t, '0.5', '0.3')
  const answer = edge.post(plainBody, {}, generations)
  await pause(100)
  t.equal(edge.holds().length, 1, 'nothing is placed meanwhile')
  await edge.log.postToWallet(workspaceId, [given('allowance')])
  t.equal((await answer).status, 200)
  t.equal(edge.availableUsd(), '0.08')
})

t.test('chat and video spend the same money, each what the other leaves', async (t) => {
  const edge = await startVideoEdge(t, { creditUsd: '0.425' })
  t.equal((await edge.post(plainAsk)).status, 200)
  t.not(edge.availableUsd(), '0.42498', 'an allowance is still open')
  t.equal((await edge.post(plainBody, {}, generations)).status, 200)
  const wallet = findOrCreateWallet(edge.tail.ledger, workspaceId)
  t.ok(balancePicos(wallet) >= wallet.heldPicos)
})

t.test('allowances that do not come back in time, or that would not do, are no cover', async (t) => {
  const edge = await withSlice(t, '0.5', '0.3')
  const startedMs = performance.now()
  t.equal((await edge.post({ ...plainBody, mode: 'pro' }, {}, generations)).status, 402, '0.56 is more than all')
  t.ok(performance.now() - startedMs < admissionLimits.admissionWaitMs, 'so nothing is waited for')
  t.equal((await edge.post(plainBody, {}, generations)).status, 402)
  t.ok(performance.now() - startedMs >= admissionLimits.admissionWaitMs - 100)
  t.equal(edge.queued.size, 0)
})

t.test('nothing is held for a client that left while it waited', async (t) => {
  const edge = await withSlice(t, '0.5', '0.3')
  const controller = new AbortController()
  const answer = fetch(edge.url + generations, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(plainBody),
    signal: controller.signal,
  })
  await pause(100)
  controller.abort()
  await t.rejects(answer)
  await pause(50)
  const { sequence } = await edge.log.postToWallet(workspaceId, [given('allowance')])
  await edge.tail.waitForSequence(sequence)
  await pause(50)
  t.equal(edge.holds().length, 1)
  t.equal(edge.queued.size, 0)
})

t.test('a submit that the log does not acknowledge in time is taken back, unless its caller can find it', async (t) => {
  const edge = await startVideoEdge(t)
  const named = { ...plainBody, metadata: { external_task_id: 'mine' } }
  edge.log.stall()
  const answers = await Promise.all([edge.post(plainBody, {}, generations), edge.post(named, {}, generations)])
  for (const response of answers)
    t.match({ status: response.status, ...(await errorOf(response)) }, { status: 503, code: 'log_unavailable' })
  t.equal(edge.queued.size, 2, 'their payloads stay: their holds may be placed yet')
  edge.log.resume()
  await until(() => edge.log.events.some(({ type }) => type === 'HoldReleased'))
  const released = edge.log.events.filter((event) => event.type === 'HoldReleased').map(({ data }) => data)
  const [unnamed] = edge.holds().filter(({ data }) => data.task?.externalTaskId === undefined)
  t.match(released, [{ holdId: unnamed?.data.holdId, reason: 'submit_failed' }])
  t.equal(released.length, 1)
  t.match((await bodyOf(await edge.get(`${generations}/${unnamed?.data.holdId}`)))['data'], { status: 'FAILURE' })
  const retried = await bodyOf(await edge.post(named, {}, generations))
  t.equal(retried['id'], edge.holds().find(({ data }) => data.task?.externalTaskId === 'mine')?.data.holdId)
  t.equal(edge.holds().length, 2)
  t.equal(edge.queued.size, 2)
  t.equal(edge.availableUsd(), '99.58')
})

t.test('a video that was refused, and made before its hold could be released, costs nothing', async (t) => {
  const edge = await startVideoEdge(t)
  edge.log.stall()
  t.equal((await edge.post(plainBody, {}, generations)).status, 503)
  edge.log.deliver(false)
  edge.log.resume()
  await until(() => edge.holds().length === 1)
  const [placed] = edge.holds()
  const task = openTask(placed!)!
  await edge.log.append([settledFact(task)])
  edge.log.deliver(true)
  await until(() => edge.log.events.some(({ type }) => type === 'AdjustmentPosted'))
  const refunds = edge.log.events.filter(({ type }) => type === 'AdjustmentPosted').map(({ data }) => data)
  t.match(refunds, [{ reason: 'undelivered', corrects: task.taskId, amount: '0.35', keyId: 'key-1' }])
  await until(() => edge.availableUsd() === '100')
  t.notOk(edge.log.events.some(({ type }) => type === 'HoldReleased'))
})

t.test('while holds do not come back through the tail, nothing more is queued', async (t) => {
  const edge = await startVideoEdge(t)
  edge.log.deliver(false)
  const first = edge.post(plainBody, {}, generations)
  await until(() => edge.holds().length === 1)
  await pause(sharedLimits.logStalledMs + 100)
  t.match(await errorOf(await edge.post(plainBody, {}, generations)), { code: 'log_unavailable' })
  t.equal(edge.queued.size, 1)
  edge.log.deliver(true)
  t.equal((await first).status, 200)
  t.ok(await submitted(edge))
})

t.test('of a submit that came second under its id nothing is kept, whether it was the same or another', async (t) => {
  const edge = await startVideoEdge(t)
  const named = (prompt: string) => ({ ...plainBody, prompt, metadata: { external_task_id: 'mine' } })
  edge.log.stall(stalledSoonMs())
  const asked = ['A cat.', 'A cat.', 'A dog.', 'A cat.'].map((prompt) => edge.post(named(prompt), {}, generations))
  await until(() => edge.queued.size === 4)
  edge.log.resume()
  const answers = await Promise.all(asked)
  const statuses = answers.map(({ status }) => status)
  t.ok(statuses.filter((status) => status === 409).length >= 1, String(statuses))
  t.equal(edge.holds().length, 1)
  await until(() => edge.queued.size === 1)
  t.same([...edge.queued.keys()], [edge.holds()[0]?.data.holdId])
})

t.test('a queue that does not take back what was refused is no fault of the caller', async (t) => {
  const withdraw = async (): Promise<void> => {
    throw logUnavailable()
  }
  const edge = await startVideoEdge(t, { creditUsd: '0.42', taskQueue: { withdraw } })
  edge.log.stall(stalledSoonMs())
  const asked = [edge.post(plainBody, {}, generations), edge.post(plainBody, {}, generations)]
  await until(() => edge.queued.size === 2)
  edge.log.resume()
  t.same((await Promise.all(asked)).map(({ status }) => status).toSorted(), [200, 402])
  t.equal(edge.queued.size, 2)
})

t.test('without its payload in the queue a task has no hold', async (t) => {
  const put = async (): Promise<void> => {
    throw logUnavailable()
  }
  const edge = await startVideoEdge(t, { taskQueue: { put } })
  const response = await edge.post(plainBody, {}, generations)
  t.match({ status: response.status, ...(await errorOf(response)) }, { status: 503, code: 'log_unavailable' })
  t.equal(edge.holds().length, 0)
})

t.test('what is held for a task is held until its deadline', async (t) => {
  const edge = await startVideoEdge(t, { taskDeadlineMs: 3_600_000 })
  await submitted(edge)
  const [hold] = edge.holds()
  const lastsMs = Date.parse(hold?.data.deadline ?? '') - Date.parse(hold?.time ?? '')
  t.ok(Math.abs(lastsMs - 3_600_000) < 60_000)
})
