import { type Event, type EventOf, type Fact, type FactOf, wrapEvent } from '../../../src/events/envelope.ts'
import type { TaskOrder } from '../../../src/events/types.ts'

export const startMs = Date.parse('2026-11-21T10:00:00.000Z')

/** An event so many milliseconds after the start. */
export const sealAt = (fact: Fact, afterMs = 0): Event =>
  wrapEvent(fact, '00000000-0000-7000-8000-000000000000', '/gateway/test', new Date(startMs + afterMs).toISOString())

export const orderOf = (members: Partial<TaskOrder> = {}): TaskOrder => ({
  keyId: 'key_1',
  surface: 'video',
  kind: 'text2video',
  model: 'vv/v3',
  provider: 'vv',
  upstreamModel: 'vendor-v3',
  priceVersion: 'v1',
  unitPrice: '0.14',
  unitsMax: '10',
  requestDigest: 'a'.repeat(64),
  payloadDigest: 'b'.repeat(64),
  ...members,
})

export const holdOf = (taskId: string, amount: string, order: TaskOrder = orderOf()): FactOf<'HoldPlaced'> => ({
  type: 'HoldPlaced',
  data: {
    holdId: taskId,
    workspaceId: 'acme',
    purpose: 'task',
    amount,
    deadline: '2026-11-22T10:00:00.000Z',
    owner: 'edge-1',
    task: order,
  },
})

export const placed = (taskId: string, amount: string, order?: TaskOrder, afterMs = 0): EventOf<'HoldPlaced'> =>
  sealAt(holdOf(taskId, amount, order), afterMs) as EventOf<'HoldPlaced'>
