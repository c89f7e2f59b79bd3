import t, { type Test } from 'tap'
import { GatewayError } from '../../../../../src/errors/gateway-error.ts'
import { OutcomeQuota, type OutcomeRoom } from '../../../../../src/roles/edge/admission/idempotency/outcome-quota.ts'
import { admissionLimits } from '../../../../../src/roles/edge/admission/limits.ts'
import { silentLogger } from '../../../../support/log-lines.ts'
import { MemoryOutcomes } from '../../memory-outcomes.ts'

const roomBytes = admissionLimits.outcomeBytesMax + admissionLimits.outcomeOverheadBytes
const rooms = 20
const hourMs = 3_600_000

const openEdges = (count: number, workspaceOutcomeBytesMax = rooms * roomBytes) => {
  const outcomes = new MemoryOutcomes()
  const time = { ms: 1_000 * hourMs }
  const parts = { outcomes, workspaceOutcomeBytesMax, clock: () => time.ms, logger: silentLogger }
  return { outcomes, time, edges: Array.from({ length: count }, () => new OutcomeQuota(parts)) }
}

const isRoom = (each: OutcomeRoom | GatewayError): each is OutcomeRoom => !(each instanceof GatewayError)

/** As many rooms as all edges together get for a workspace, asked at once. */
const reserveAll = async (
  t: Test,
  edges: readonly OutcomeQuota[],
  workspaceId: string,
): Promise<readonly OutcomeRoom[]> => {
  const asked = Array.from({ length: 2 * rooms }, (_, place) => edges[place % edges.length]!.reserve(workspaceId))
  const refusals = (await Promise.all(asked)).filter((each) => !isRoom(each))
  t.ok(refusals.length > 0)
  t.match(refusals[0], { code: 'idempotency_quota_exceeded' })
  return (await Promise.all(asked)).filter(isRoom)
}

t.test('edges never give more room together than a workspace has, and its neighbour has its own', async (t) => {
  const { edges } = openEdges(3)
  const given = await reserveAll(t, edges, 'acme')
  t.ok(given.length <= rooms && given.length > rooms - 3, `${given.length} rooms`)
  t.ok(isRoom(await edges[0]!.reserve('other')))
})

t.test('what an answer did not take is free at once at its edge, and a second later at every edge', async (t) => {
  const { edges } = openEdges(2)
  const [first, second] = edges as [OutcomeQuota, OutcomeQuota]
  for (const room of await reserveAll(t, [first], 'acme')) room.settle(1_000)
  const again = await reserveAll(t, [first], 'acme')
  t.ok(again.length >= rooms - 1)
  t.notOk(isRoom(await second.reserve('acme')))
  for (const room of again) room.settle(null)
  await new Promise((resolve) => setTimeout(resolve, admissionLimits.outcomeIdleMs + 100))
  t.ok((await reserveAll(t, [second], 'acme')).length >= rooms - 1)
})

t.test('what was stored is free when it has expired, and not before', async (t) => {
  const { edges, time } = openEdges(1)
  for (const room of await reserveAll(t, edges, 'acme')) room.settle(admissionLimits.outcomeBytesMax)
  time.ms += 24 * hourMs
  const refusal = await edges[0]!.reserve('acme')
  t.notOk(isRoom(refusal))
  t.ok(refusal instanceof GatewayError && (refusal.retryAfterSeconds ?? 0) <= 2 * 3_600)
  time.ms += 2 * hourMs
  t.equal((await reserveAll(t, edges, 'acme')).length, rooms)
})

t.test('a workspace leaves as much of the store as it has leased', async (t) => {
  const { edges, outcomes } = openEdges(1, 1e12)
  outcomes.free = 3 * roomBytes
  t.equal((await reserveAll(t, edges, 'acme')).length, 3)
})
