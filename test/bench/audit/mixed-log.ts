import { setImmediate as turn } from 'node:timers/promises'
import { v7 } from 'uuid'
import type { Fact } from '../../../src/events/envelope.ts'
import type { EventLog } from '../../../src/roles/role.ts'
import { appendTraffic } from '../traffic.ts'

const workspaceId = 'films'
const taskShare = 0.002 // Of all events: each task is a synced append of its own to one wallet.
const tasksAtOnce = 64
const deadline = '2100-01-01T00:00:00.000Z'
const priceVersion = '0123456789abcdef'
const digest = '0'.repeat(64)

const holdOf = (taskId: string, owner: string): Fact => ({
  type: 'HoldPlaced',
  data: {
    ...{ holdId: taskId, workspaceId, purpose: 'task', amount: '0.84', deadline, owner },
    task: {
      ...{ keyId: 'key-of-films', surface: 'video', kind: 'text2video', model: 'vv/v3', provider: 'vv' },
      ...{ upstreamModel: 'v3', priceVersion, unitPrice: '0.14', unitsMax: '6' },
      ...{ requestDigest: digest, payloadDigest: digest },
    },
  },
})

const courseOf = (taskId: string): readonly Fact[] => [
  { type: 'TaskSubmitted', data: { taskId, workspaceId, vendorTaskId: `vendor-${taskId}` } },
  { type: 'TaskProgressed', data: { taskId, workspaceId, status: 'IN_PROGRESS', progress: 30 } },
  {
    type: 'TaskSettled',
    data: {
      ...{ taskId, workspaceId, outcome: 'SUCCESS', vendorTaskId: `vendor-${taskId}`, deduction: '3' },
      ...{ source: 'reported', priceVersion, total: '0.42', held: '0.84' },
      lines: [{ item: 'video', quantity: '3', unitPrice: '0.14', amount: '0.42' }],
      results: [{ id: `${taskId}-1`, url: `https://vendor.example/${taskId}.mp4`, duration: '5.1' }],
    },
  },
]

const appendTask = async (log: EventLog): Promise<void> => {
  const taskId = `task_${v7().replaceAll('-', '')}`
  await log.postToWallet(workspaceId, [holdOf(taskId, log.writer)])
  await log.append(courseOf(taskId))
}

/** Fills a log with so many events: mostly requests in full frames, and video tasks with their holds; answers with the events it then holds. */
export const appendMixed = async (log: EventLog, events: number): Promise<number> => {
  const tasks = Math.ceil((events * taskShare) / 4)
  await log.append([{ type: 'WorkspaceOpened', data: { workspaceId, name: workspaceId, creditLimit: '0' } }])
  await log.postToWallet(workspaceId, [
    { type: 'WalletCredited', data: { workspaceId, amount: '1000000', reference: 'bench', note: '' } },
  ])
  for (let task = 0; task < tasks; task += tasksAtOnce) {
    await Promise.all(Array.from({ length: Math.min(tasksAtOnce, tasks - task) }, () => appendTask(log)))
    await turn()
  }
  return 2 + tasks * 4 + (await appendTraffic(log, events - tasks * 4))
}
