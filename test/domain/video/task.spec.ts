import t from 'tap'
import { decideSettlement } from '../../../src/domain/video/settle.ts'
import {
  expireTask,
  isEnded,
  openTask,
  progressTask,
  settleTask,
  type Task,
  type TaskEvent,
} from '../../../src/domain/video/task.ts'
import type { EventOf } from '../../../src/events/envelope.ts'
import { orderOf, placed, sealAt, startMs } from './tasks.ts'

const task = (): Task => openTask(placed('task_1', '1.4', orderOf({ externalTaskId: 'mine' })))!
const named = { taskId: 'task_1', workspaceId: 'acme' }

const submitted = (afterMs: number): TaskEvent =>
  sealAt({ type: 'TaskSubmitted', data: { ...named, vendorTaskId: `v-${afterMs}` } }, afterMs) as TaskEvent
const progressed = (status: 'SUBMITTED' | 'IN_PROGRESS', progress: number, afterMs: number): TaskEvent =>
  sealAt({ type: 'TaskProgressed', data: { ...named, status, progress } }, afterMs) as TaskEvent
const released = (reason: 'expired' | 'submit_failed' | 'returned', afterMs: number) =>
  sealAt(
    { type: 'HoldReleased', data: { holdId: 'task_1', workspaceId: 'acme', reason } },
    afterMs,
  ) as EventOf<'HoldReleased'>

const after = (...events: readonly TaskEvent[]): Task => {
  const opened = task()
  for (const event of events) progressTask(opened, event)
  return opened
}

t.test('a hold for a task opens it', async (t) => {
  t.match(task(), {
    taskId: 'task_1',
    workspaceId: 'acme',
    externalTaskId: 'mine',
    kind: 'text2video',
    model: 'vv/v3',
    unitPrice: '0.14',
    held: '1.4',
    queuedMs: startMs,
    deadlineMs: startMs + 86_400_000,
    status: 'QUEUED',
    progress: 0,
    vendorTaskId: null,
    source: null,
    total: '0',
    results: [],
  })
  t.equal(isEnded(task()), false)
  t.equal(openTask(placed('task_1', '1'))?.externalTaskId, null)
})

t.test('a hold for an allowance opens none', async (t) => {
  const { task: _, ...data } = placed('h1', '1').data
  t.equal(openTask({ ...placed('h1', '1'), data: { ...data, purpose: 'allowance' } }), null)
})

// The events, and how the task stands after them: status, percent, submitted, started, last moved (ms after the start).
const rows: readonly (readonly [name: string, events: readonly TaskEvent[], stands: readonly unknown[]])[] = [
  ['taken', [submitted(1)], ['SUBMITTED', 10, 1, null, 1]],
  ['taken, then at work', [submitted(1), progressed('IN_PROGRESS', 30, 2)], ['IN_PROGRESS', 30, 1, 2, 2]],
  ['at work at once', [progressed('IN_PROGRESS', 30, 2)], ['IN_PROGRESS', 30, 2, 2, 2]],
  ['further on', [progressed('IN_PROGRESS', 30, 2), progressed('IN_PROGRESS', 60, 3)], ['IN_PROGRESS', 60, 2, 2, 3]],
  [
    'a lower percentage',
    [progressed('IN_PROGRESS', 60, 2), progressed('IN_PROGRESS', 30, 3)],
    ['IN_PROGRESS', 60, 2, 2, 2],
  ],
  [
    'the same again',
    [progressed('IN_PROGRESS', 60, 2), progressed('IN_PROGRESS', 60, 3)],
    ['IN_PROGRESS', 60, 2, 2, 2],
  ],
  [
    'an earlier state',
    [progressed('IN_PROGRESS', 30, 2), progressed('SUBMITTED', 99, 3)],
    ['IN_PROGRESS', 30, 2, 2, 2],
  ],
  ['taken, told late', [progressed('IN_PROGRESS', 30, 2), submitted(3)], ['IN_PROGRESS', 30, 2, 2, 2]],
  ['queued at the vendor', [submitted(1), progressed('SUBMITTED', 20, 2)], ['SUBMITTED', 20, 1, null, 2]],
  [
    'a state on, a percentage back',
    [progressed('SUBMITTED', 50, 1), progressed('IN_PROGRESS', 30, 2)],
    ['IN_PROGRESS', 50, 1, 2, 2],
  ],
]

t.test('a task moves forward only', async (t) => {
  const since = (ms: number | null): number | null => (ms === null ? null : ms - startMs)
  for (const [name, events, stands] of rows) {
    const { status, progress, submittedMs, startedMs, updatedMs } = after(...events)
    t.same([status, progress, since(submittedMs), since(startedMs), since(updatedMs)], stands, name)
  }
})

t.test('the vendor’s id is the first that was told', async (t) => {
  t.equal(after(submitted(1), submitted(2)).vendorTaskId, 'v-1')
  t.equal(after(progressed('IN_PROGRESS', 30, 1), submitted(2)).vendorTaskId, 'v-2')
})

const verdict = {
  outcome: 'SUCCESS',
  vendorTaskId: 'v-9',
  deduction: '3',
  failReason: null,
  vendorCode: null,
  results: [{ id: 'r', url: 'https://example.com/r.mp4' }],
} as const

t.test('the vendor’s word ends it', async (t) => {
  const ended = after(submitted(1))
  settleTask(ended, sealAt(decideSettlement(ended, verdict), 5) as EventOf<'TaskSettled'>)
  t.match(ended, {
    status: 'SUCCESS',
    progress: 100,
    finishedMs: startMs + 5,
    updatedMs: startMs + 5,
    vendorTaskId: 'v-1',
    deduction: '3',
    source: 'reported',
    total: '0.42',
    lines: [{ item: 'video', quantity: '3', unitPrice: '0.14', amount: '0.42' }],
    results: [{ id: 'r' }],
    failReason: null,
  })
  t.equal(isEnded(ended), true)
})

t.test('a refusal ends it too, and it was never at the vendor', async (t) => {
  const ended = task()
  const refusal = { ...verdict, outcome: 'FAILURE', vendorTaskId: null, failReason: 'no', vendorCode: 1201 } as const
  settleTask(ended, sealAt(decideSettlement(ended, refusal), 5) as EventOf<'TaskSettled'>)
  t.match(ended, {
    status: 'FAILURE',
    progress: 100,
    vendorTaskId: null,
    failReason: 'no',
    vendorCode: 1201,
    total: '0',
  })
  t.equal(ended.startedMs, null)
})

t.test('a hold that goes back ends it without a charge, and says why', async (t) => {
  for (const reason of ['expired', 'submit_failed', 'returned'] as const) {
    const ended = after(submitted(1))
    expireTask(ended, released(reason, 7))
    t.match(ended, { status: 'FAILURE', progress: 100, finishedMs: startMs + 7, total: '0', lines: [], source: null })
    t.match(ended.failReason, /\w+ .*\.$/, reason)
    t.equal(isEnded(ended), true)
  }
})

t.test('what has ended moves no more', async (t) => {
  const ended = task()
  expireTask(ended, released('expired', 7))
  const stood = { ...ended }
  progressTask(ended, progressed('IN_PROGRESS', 99, 8))
  progressTask(ended, submitted(9))
  t.same({ ...ended, vendorTaskId: null }, stood)
})
