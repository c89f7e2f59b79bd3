import t, { type Test } from 'tap'
import { initialLedger, type Ledger } from '../../src/domain/ledger/ledger.ts'
import { isEnded, type Task } from '../../src/domain/video/task.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import { RecentTasks, type RecentTasksParts, type StoredTasks } from '../../src/roles/recent-tasks.ts'
import { recordingLogger, silentLogger } from '../support/log-lines.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'
import { holdReleased, taskFailed, taskPlaced, taskProgressed, taskSettled, taskSubmitted } from './projector/facts.ts'
import { ledgerOf, openProjected, type Projected, project } from './projector/projecting.ts'

const fault = () => Promise.reject(new Error('the database is away'))
const away: StoredTasks = { findTask: fault, listTasks: fault, checkpoint: fault }
const unavailable = { code: 'read_models_unavailable' }

interface Options extends Partial<RecentTasksParts> {
  readonly ledger?: Ledger
}

const following = (t: Test, log: MemoryLog, { ledger = initialLedger(), ...parts }: Options = {}) => {
  const tail = new LedgerTail(ledger, log)
  const tasks = new RecentTasks({ tail, log, frames: log, logger: silentLogger, stored: away, ...parts })
  t.teardown(async () => {
    await tasks.stop()
    await tail.stop()
  })
  return { tail, tasks }
}

const postgres = await startPostgres(t)
const newProjected = async (t: Test): Promise<Projected> => {
  const projected = await openProjected(t, postgres)
  await projected.store.load()
  return projected
}

const idsOf = (tasks: readonly Task[]): readonly string[] => tasks.map(({ taskId, status }) => `${taskId} ${status}`)
const page = { page: 1, pageSize: 30 }

t.test('with the tables away, tasks that are open or ended a moment ago are known', async (t) => {
  const log = new MemoryLog()
  const { tail, tasks } = following(t, log)
  await log.postToWallet(
    'acme',
    [1, 2, 3, 4].map((number) => taskPlaced(`task-${number}`)),
  )
  await log.append([taskSubmitted('task-2'), taskSettled('task-3'), taskFailed('task-4'), taskProgressed('task-4', 9)])
  await log.postToWallet('acme', [taskPlaced('task-5'), holdReleased('task-5', 'acme', 'submit_failed')])
  await tail.waitForSequence(3)
  t.match(await tasks.find('acme', 'task-1'), { status: 'QUEUED' })
  t.match(await tasks.find('acme', 'task-2'), { status: 'SUBMITTED' })
  t.match(await tasks.find('acme', 'task-3'), { status: 'SUCCESS', total: '0.63' })
  t.match(await tasks.find('acme', 'task-4'), { status: 'FAILURE', progress: 100 })
  t.match(await tasks.find('acme', 'task-5'), { status: 'FAILURE', failReason: /not accepted/ })
  await t.rejects(tasks.find('acme', 'task-9'), unavailable)
  await t.rejects(tasks.find('other', 'task-1'), unavailable, 'nobody learns that it is there')
  await t.rejects(tasks.list('acme', 'text2video', page), unavailable)
})

t.test('a task that another process took a moment ago is awaited; one that nobody took is not there', async (t) => {
  const log = new MemoryLog()
  const projected = await newProjected(t)
  const stored = projected.database.tasks()
  const findTask: StoredTasks['findTask'] = async (workspaceId, taskId) => {
    if (log.frames.length === 0) await log.postToWallet('acme', [taskPlaced('task-1')])
    return stored.findTask(workspaceId, taskId)
  }
  const { tasks } = following(t, log, { stored: { ...stored, findTask } })
  t.match(await tasks.find('acme', 'task-1'), { status: 'QUEUED' })
  t.equal(await tasks.find('acme', 'task-2'), null)
  t.equal(await tasks.find('other', 'task-1'), null)
})

t.test("the caller's own id, within its workspace", async (t) => {
  const log = new MemoryLog()
  const { tasks } = following(t, log)
  await log.postToWallet('acme', [taskPlaced('task-1', { externalTaskId: 'mine' })])
  t.match(await tasks.findByExternalId('acme', 'mine'), { taskId: 'task-1' }, 'it is looked for to the end of the log')
  t.equal(await tasks.findByExternalId('acme', 'task-1'), null, 'which tells also what is not there')
  t.equal(await tasks.findByExternalId('other', 'mine'), null)
  await log.append([taskSettled('task-1')])
  await log.postToWallet('acme', [taskPlaced('task-2')])
  await tasks.findByExternalId('acme', 'nobody')
  t.match(await tasks.findByExternalId('acme', 'mine'), { status: 'SUCCESS' })
})

t.test('memory is bounded; what was forgotten is found once the tables have it', async (t) => {
  const log = new MemoryLog()
  const projected = await newProjected(t)
  const { tail, tasks } = following(t, log, { stored: projected.database.tasks(), endedMax: 2 })
  await log.postToWallet(
    'acme',
    [1, 2, 3].map((number) => taskPlaced(`task-${number}`)),
  )
  await log.append([taskSettled('task-1')])
  await tail.waitForSequence(2)
  await project(log, projected.store, 500, 1)
  t.match(await tasks.find('acme', 'task-1'), { status: 'SUCCESS' })
  await log.append([taskSettled('task-2'), taskSettled('task-3')])
  await tail.waitForSequence(3)
  const found = tasks.find('acme', 'task-1')
  await project(log, projected.store, 500)
  t.match(await found, { status: 'SUCCESS' }, 'never a state that it was in before')
  t.equal(await tasks.find('acme', 'task-9'), null)
})

t.test('tables that stay behind: it cannot be told', async (t) => {
  const log = new MemoryLog()
  await log.postToWallet('acme', [taskPlaced('task-1')])
  await log.append([taskSettled('task-1')])
  const projected = await newProjected(t)
  await project(log, projected.store, 500, 1)
  const { tail, tasks } = following(t, log, { stored: projected.database.tasks(), ledger: ledgerOf(log) })
  await t.rejects(tasks.find('acme', 'task-1'), unavailable, 'it ended before this process heard')
  await log.postToWallet('acme', [taskPlaced('task-2')])
  await tail.waitForSequence(3)
  await t.rejects(tasks.list('acme', 'text2video', page), unavailable)
})

t.test('a log that cannot be asked', async (t) => {
  const projected = await newProjected(t)
  const lastSequence = () => Promise.reject(new Error('no server'))
  const { tasks } = following(t, new MemoryLog(), { stored: projected.database.tasks(), log: { lastSequence } })
  await t.rejects(tasks.find('acme', 'task-1'), unavailable)
  await t.rejects(tasks.findByExternalId('acme', 'mine'), unavailable)
})

t.test('a list has what was taken a moment ago, and every task as it stands', async (t) => {
  const log = new MemoryLog()
  const projected = await newProjected(t)
  const { tail, tasks } = following(t, log, { stored: projected.database.tasks() })
  await log.postToWallet('acme', [taskPlaced('task-1'), taskPlaced('task-2', { kind: 'omni-video' })])
  await log.postToWallet('acme', [taskPlaced('task-3')])
  await tail.waitForSequence(2)
  const listed = tasks.list('acme', 'text2video', page)
  await project(log, projected.store, 500)
  t.same(idsOf(await listed), ['task-3 QUEUED', 'task-1 QUEUED'])
  await log.append([taskSubmitted('task-3'), taskSettled('task-1')])
  await tail.waitForSequence(3)
  t.same(idsOf(await tasks.list('acme', 'text2video', page)), ['task-3 SUBMITTED', 'task-1 SUCCESS'])
  t.same(idsOf(await tasks.list('acme', 'text2video', { page: 2, pageSize: 1 })), ['task-1 SUCCESS'])
  t.same(await tasks.list('other', 'text2video', page), [])
})

t.test('a row that names other frames than its own yields no task', async (t) => {
  const log = new MemoryLog()
  await log.postToWallet('acme', [taskPlaced('task-1'), taskPlaced('task-2')])
  await log.postToWallet('other', [taskPlaced('task-3', {}, 'other')])
  await log.append([taskSubmitted('task-1'), taskSettled('task-1'), taskSettled('task-2')])
  await log.append([{ ...taskSettled('task-3'), data: { ...taskSettled('task-3').data, workspaceId: 'other' } }])
  const logger = recordingLogger()
  for (const sequences of [[1], [3], [2, 4], [], [0, 1], [1, 1_000_000]]) {
    const stored: StoredTasks = {
      findTask: async () => ({ taskId: 'task-1', sequences }),
      listTasks: async () => [{ taskId: 'task-1', sequences }],
      checkpoint: async () => 4,
    }
    const { tasks } = following(t, log, { stored, logger, ledger: ledgerOf(log) })
    await t.rejects(tasks.find('acme', 'task-1'), unavailable, `frames ${sequences}`)
    const shown = await tasks.list('acme', 'text2video', page).catch(() => [])
    t.notOk(shown.some(isEnded), 'nor a result in a list')
    await t.rejects(tasks.find('other', 'task-1'), unavailable, 'nor to another workspace')
  }
  t.ok(logger.lines.length >= 6)
  t.ok(logger.lines.every(({ event }) => event === 'projection.row_mismatch'))
  const stored: StoredTasks = {
    findTask: async (_, taskId) => ({ taskId, sequences: [2, 4] }),
    listTasks: async () => [{ taskId: 'task-3', sequences: [2, 4] }],
    checkpoint: async () => 4,
  }
  const { tasks } = following(t, log, { stored, logger, ledger: ledgerOf(log) })
  await t.rejects(tasks.find('acme', 'task-3'), unavailable, "another workspace's task in our name")
  await t.rejects(tasks.list('acme', 'text2video', page), unavailable)
  t.match(await tasks.find('other', 'task-3'), { status: 'SUCCESS' })
  t.match(await tasks.list('other', 'text2video', page), [{ taskId: 'task-3', status: 'SUCCESS' }])
})

t.test('a second end of a task is not its end, whatever a row names', async (t) => {
  const log = new MemoryLog()
  await log.postToWallet('acme', [taskPlaced('task-1'), taskPlaced('task-2'), taskPlaced('task-3')])
  await log.postToWallet('acme', [holdReleased('task-1')])
  await log.append([taskSettled('task-1'), taskSettled('task-2')])
  await log.postToWallet('acme', [holdReleased('task-2')])
  await log.append([taskFailed('task-2')])
  const logger = recordingLogger()
  const withRow = (taskId: string, sequences: readonly number[]) => {
    const stored: StoredTasks = {
      findTask: async () => ({ taskId, sequences }),
      listTasks: async () => [{ taskId, sequences }],
      checkpoint: async () => 5,
    }
    return following(t, log, { stored, logger, ledger: ledgerOf(log) }).tasks
  }
  for (const [taskId, sequences] of [
    ['task-1', [1, 3]],
    ['task-2', [1, 4]],
    ['task-2', [1, 5]],
    ['task-2', [1]],
  ] as const) {
    const tasks = withRow(taskId, sequences)
    await t.rejects(tasks.find('acme', taskId), unavailable, `${taskId} by frames ${sequences}`)
    await t.rejects(tasks.list('acme', 'text2video', page), unavailable)
  }
  t.match(await withRow('task-1', [1, 2, 3]).find('acme', 'task-1'), { status: 'FAILURE', results: [], total: '0' })
  t.match(await withRow('task-2', [1, 3, 4, 5]).find('acme', 'task-2'), { status: 'SUCCESS', total: '0.63' })
  t.match(await withRow('task-3', [1]).list('acme', 'text2video', page), [{ status: 'QUEUED' }])
  t.ok(logger.lines.every(({ event }) => event === 'projection.row_mismatch'))
})
