import t from 'tap'
import { Lease } from '../../../src/roles/video-poller/task-run.ts'

const leaseMs = 30_000
const dueMs = 10_000

/** An item, its renewals, and whether the queue can be told. */
const heldItem = () => {
  const state = { isUp: true, deliveries: 1, renewals: 0 }
  const item = {
    id: 'task_1',
    mayBeShared: false,
    get deliveries() {
      return state.deliveries
    },
    bytes: async () => null,
    renew: () => {
      state.renewals += 1
      return state.isUp
    },
    done: async () => {},
    again: () => {},
  }
  return { state, item }
}

/** Renews every second, as a poller does. */
const keep = (lease: Lease, fromMs: number, toMs: number): void => {
  for (let nowMs = fromMs; nowMs < toMs; nowMs += 1_000) lease.renewIfDue(nowMs, dueMs)
}

t.test('a lease that is renewed in time is kept', async (t) => {
  const { state, item } = heldItem()
  const lease = new Lease(item, leaseMs, 0)
  keep(lease, 0, 100_000)
  t.equal(lease.isLost(100_000), false)
  t.equal(state.renewals, 9)
})

t.test('a lease is lost once the queue could not be told for as long as it lasts', async (t) => {
  const { state, item } = heldItem()
  const lease = new Lease(item, leaseMs, 0)
  keep(lease, 0, 11_000)
  state.isUp = false
  keep(lease, 11_000, 40_000)
  t.equal(lease.isLost(39_999), false)
  t.equal(lease.isLost(40_000), true)
})

t.test('a lease outlives a short disturbance: it is renewed as soon as the queue can be told', async (t) => {
  const { state, item } = heldItem()
  const lease = new Lease(item, leaseMs, 0)
  state.isUp = false
  keep(lease, 0, 25_000)
  state.isUp = true
  keep(lease, 25_000, 26_000)
  t.equal(lease.isLost(54_000), false)
})

t.test('a lease is lost when the item was handed out again', async (t) => {
  const { state, item } = heldItem()
  const lease = new Lease(item, leaseMs, 0)
  state.deliveries = 2
  t.equal(lease.isLost(1), true)
  t.equal(new Lease(item, leaseMs, 0).isLost(1), false)
})
