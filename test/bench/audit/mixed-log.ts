import { setImmediate as turn } from 'node:timers/promises'
import { v7 } from 'uuid'
import type { EventLog } from '../../../src/log/event-log.ts'
import { appendTraffic } from '../traffic.ts'
import { courseOf, holdOf } from './task-facts.ts'

const workspaceId = 'films'
const taskShare = 0.002 // Of all events: each task is a synced append of its own to one wallet.
const tasksAtOnce = 64
const appendTask = async (log: EventLog): Promise<void> => {
  const taskId = `task_${v7().replaceAll('-', '')}`
  const task = { taskId, workspaceId, keyId: 'key-of-films', owner: log.writer }
  await log.postToWallet(workspaceId, [holdOf(task)])
  await log.append(courseOf(task))
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
