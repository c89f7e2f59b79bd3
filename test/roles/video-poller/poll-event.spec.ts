import t from 'tap'
import type { Task } from '../../../src/domain/video/task.ts'
import { pollerBoundsWith } from '../../../src/roles/video-poller/bounds.ts'
import {
  beginPolling,
  nextPollState,
  type PollEvent,
  type TaskPollState,
} from '../../../src/roles/video-poller/poll-event.ts'
import { busy, duplicate, success } from './scripted-vendor.ts'

const bounds = pollerBoundsWith({
  taskHoldWaitMs: 300,
  taskDoubtMs: 75,
  taskPollMs: 5,
  taskPollMaxMs: 30,
  taskMissingMs: 1_000,
  taskRetryMs: 20,
  taskRetryMaxMs: 100,
  taskRetryAfterMaxMs: 500,
  lateVerdictWindowMs: 10_000,
  latePollMs: 60,
  latePollMaxMs: 600,
})

/** A chance of a half is no jitter of a poll, and three quarters of a back-off. */
const at = { steadyMs: 1_000, nowMs: 50_000, chance: 0.5, mayBeShared: false }
const shared = { ...at, mayBeShared: true }
const now = at.steadyMs
const doubtedUntil = now + 75
const firstRetry = now + 15
const secondRetry = now + 30

const task: Task = {
  taskId: 'task_1',
  workspaceId: 'acme',
  keyId: 'key-1',
  provider: 'vv',
  model: 'vv/v3',
  kind: 'text2video',
  surface: 'video',
  upstreamModel: 'v3',
  unitsMax: '10',
  payloadDigest: 'd',
  requestDigest: 'r',
  externalTaskId: null,
  priceVersion: 'v1',
  unitPrice: '0.1',
  held: '1',
  queuedMs: 0,
  deadlineMs: 100_000,
  vendorTaskId: null,
  status: 'QUEUED',
  progress: 0,
  submittedMs: null,
  startedMs: null,
  finishedMs: null,
  updatedMs: 0,
  failReason: null,
  vendorCode: null,
  deduction: null,
  source: null,
  lines: [],
  total: '0',
  results: [],
}
const submitted: Task = { ...task, vendorTaskId: 'v1', status: 'SUBMITTED', submittedMs: 50_000 }
const ended: Task = { ...submitted, status: 'FAILURE', finishedMs: 49_000 }
const settled: Task = { ...ended, source: 'reported' }
const refused: Task = { ...settled, vendorCode: 1301 }

const first = beginPolling(1, null, at, bounds)
const again = beginPolling(2, submitted, at, bounds)
const held: TaskPollState = { ...first, task, failures: 3, notBeforeMs: 2_000 }
const polled: TaskPollState = { ...held, task: submitted, vendorTaskId: 'v1' }
const late: TaskPollState = { ...polled, task: ended, callbackQueued: true }

const unknown = { type: 'unknown', reason: 'fault' } as const
const busyFor = (retryAfterMs: number) => ({ ...busy, type: 'busy', retryAfterMs }) as typeof busy & { type: 'busy' }
const open = { type: 'open', vendorTaskId: 'v1', status: 'SUBMITTED' } as const
const running = { ...open, status: 'IN_PROGRESS' } as const
const verdict = success('v1')
const over = { type: 'ended', verdict } as const
const notFound = { type: 'not_found' } as const
const failure = { reason: 'this id was used before', code: 1201 }

const changed = (
  of: Task | null,
  change: 'HoldPlaced' | 'TaskSubmitted' | 'TaskProgressed' | 'HoldReleased' | 'TaskSettled' | 'LateVerdictSeen',
  hasVerdict = false,
): PollEvent => ({ type: 'task_changed', task: of, change, hasVerdict })
const submit = (answer: Extract<PollEvent, { type: 'submit_answered' }>['answer']): PollEvent => ({
  type: 'submit_answered',
  answer,
})
const find = (status: Extract<PollEvent, { type: 'find_answered' }>['status'], leaseKept = true): PollEvent => ({
  type: 'find_answered',
  status,
  leaseKept,
})
const query = (status: Extract<PollEvent, { type: 'query_answered' }>['status']): PollEvent => ({
  type: 'query_answered',
  status,
})

type Row = readonly [
  when: string,
  state: TaskPollState,
  event: PollEvent,
  then: Partial<TaskPollState>,
  effects?: readonly string[],
]

const progress = { failures: 0, notBeforeMs: now + 5 }
const afterEnd = { failures: 0, notBeforeMs: now, lateUntilMs: now + 9_000, findFromMs: doubtedUntil }

const table: readonly Row[] = [
  // The item
  [
    'the item comes again',
    held,
    { type: 'lease_renewed', deliveries: 2 },
    { deliveries: 2, inDoubt: true, findFromMs: doubtedUntil },
    ['wake'],
  ],
  ['the poller stops', held, { type: 'lease_returned' }, { stopping: true }, ['wake']],
  ['the poller stops in doubt', again, { type: 'lease_returned' }, { stopping: true }, ['wake']],

  // The ledger
  ['the hold comes', first, changed(task, 'HoldPlaced'), { task }, ['wake']],
  [
    'the hold comes after failures',
    { ...held, task: null },
    changed(task, 'HoldPlaced'),
    { task, failures: 0, notBeforeMs: now },
    ['wake'],
  ],
  [
    'another process has submitted it',
    held,
    changed(submitted, 'TaskSubmitted'),
    { task: submitted, failures: 0, notBeforeMs: now },
    ['wake'],
  ],
  [
    'its own submit comes back: the pace stays',
    { ...held, vendorTaskId: 'v1' },
    changed(submitted, 'TaskSubmitted'),
    { task: submitted },
  ],
  ['its own progress comes back: the pace stays', polled, changed(submitted, 'TaskProgressed'), {}],
  ['the hold ends', polled, changed(ended, 'HoldReleased'), { task: ended, ...afterEnd }, ['wake']],
  [
    'the hold ends after the vendor did not find it',
    { ...polled, vendorHasNone: true },
    changed(ended, 'HoldReleased'),
    { task: ended, ...afterEnd, vendorHasNone: false },
    ['wake'],
  ],
  [
    'it is settled',
    polled,
    changed(settled, 'TaskSettled', true),
    { task: settled, ...afterEnd, verdictRecorded: true },
    ['wake'],
  ],
  [
    'it is settled as refused, though the log had it as submitted',
    polled,
    changed(refused, 'TaskSettled'),
    { task: refused, ...afterEnd },
    ['wake'],
  ],
  [
    'it ended without an instant',
    polled,
    changed({ ...ended, finishedMs: null }, 'HoldReleased'),
    { task: { ...ended, finishedMs: null }, ...afterEnd, lateUntilMs: now + 10_000 },
    ['wake'],
  ],
  [
    'the verdict of a task that the ledger has dropped',
    late,
    changed(null, 'LateVerdictSeen', true),
    { verdictRecorded: true },
    ['wake'],
  ],
  [
    'the settlement of a task that the ledger has dropped',
    late,
    changed(null, 'TaskSettled', true),
    { verdictRecorded: true },
    ['wake'],
  ],
  ['a refusal of a task that the ledger has dropped', late, changed(null, 'TaskSettled'), {}],
  ['progress of a task that the ledger has dropped', late, changed(null, 'TaskProgressed'), {}],
  [
    'a look-up finds it',
    first,
    { type: 'looked_up', task: ended, askedMs: 900 },
    { task: ended, lateUntilMs: now + 9_000, findFromMs: doubtedUntil },
    ['wake'],
  ],
  ['a look-up finds nothing', first, { type: 'looked_up', task: null, askedMs: 900 }, { absentMs: 900 }],

  // The submit
  [
    'the vendor accepts it',
    held,
    submit({ type: 'accepted', vendorTaskId: 'v1' }),
    { failures: 0, vendorTaskId: 'v1' },
  ],
  ['the vendor refuses it', held, submit(duplicate), { failure, findFromMs: now }],
  [
    'the vendor refuses it, which it may have',
    { ...held, inDoubt: true },
    submit(duplicate),
    { failure, findFromMs: doubtedUntil },
  ],
  ['the vendor is busy', held, submit(busy), { failures: 4, notBeforeMs: now + 75 }],
  ['the vendor is busy for a while', held, submit(busyFor(400)), { failures: 4, notBeforeMs: now + 420 }],
  ['the vendor names a delay beyond the bound', held, submit(busyFor(9_000)), { failures: 4, notBeforeMs: now + 525 }],
  ['it is unknown whether it arrived', held, submit(unknown), { inDoubt: true, findFromMs: doubtedUntil }],
  [
    'the request is lost',
    held,
    { type: 'request_lost' },
    { failure: { reason: 'The gateway lost the request before the vendor had it. Nothing was charged.', code: null } },
  ],
  [
    'the submit is recorded',
    { ...held, vendorTaskId: 'v1' },
    { type: 'submit_recorded' },
    { submittedRecorded: true, notBeforeMs: now + 5 },
  ],

  // After a doubt
  [
    'the vendor has it',
    { ...held, findFromMs: 900 },
    find(open),
    { failures: 0, findFromMs: null, vendorTaskId: 'v1' },
  ],
  [
    'the vendor has finished it',
    { ...held, findFromMs: 900 },
    find(over),
    { failures: 0, findFromMs: null, vendorTaskId: 'v1', verdict },
  ],
  [
    'the vendor never had it',
    { ...held, findFromMs: 900 },
    find(notFound),
    { failures: 0, findFromMs: null, vendorHasNone: true },
  ],
  [
    'the vendor does not find what has ended: it is asked once more',
    { ...late, vendorTaskId: null, findFromMs: 900 },
    find(notFound),
    { failures: 0, findFromMs: now + 100, vendorHasNone: true },
  ],
  [
    'the vendor does not find what has ended again',
    { ...late, vendorTaskId: null, findFromMs: 900, vendorHasNone: true },
    find(notFound),
    { failures: 0, findFromMs: null },
  ],
  [
    'the vendor never had it, and another process could submit since',
    { ...held, findFromMs: 900 },
    find(notFound, false),
    { failures: 0 },
  ],
  [
    'the vendor is busy with queries',
    { ...first, task, findFromMs: 900 },
    find(busy),
    { failures: 1, notBeforeMs: firstRetry },
  ],
  [
    'the query fails',
    { ...first, task, findFromMs: 900, failures: 1 },
    find(unknown),
    { failures: 2, notBeforeMs: secondRetry },
  ],

  [
    'the time for a late verdict is over when the vendor does not find it',
    { ...late, vendorTaskId: null, findFromMs: 900, lateUntilMs: now },
    find(notFound),
    { failures: 0, findFromMs: now + 100, vendorHasNone: true, notBeforeMs: now, askedLast: true },
  ],

  // The polls
  ['it waits at the vendor', polled, query(open), progress],
  ['it is being made', polled, query(running), progress, ['record_progress']],
  ['it is being made, after the hold ended', late, query(running), { failures: 0, notBeforeMs: now + 100 }],
  ['it has ended', polled, query(over), { verdict }],
  ['the vendor is busy with polls', { ...polled, failures: 0 }, query(busy), { failures: 1, notBeforeMs: firstRetry }],
  ['the poll fails', { ...polled, failures: 1 }, query(unknown), { failures: 2, notBeforeMs: secondRetry }],
  [
    'the poll fails of a late task: no oftener than its polls',
    { ...late, failures: 0 },
    query(unknown),
    { failures: 1, notBeforeMs: now + 100 },
  ],
  [
    'the time for a late verdict is over: it was asked for the last time',
    { ...late, lateUntilMs: now },
    query(open),
    { failures: 0, notBeforeMs: now, askedLast: true },
  ],
  [
    'the last poll fails',
    { ...late, failures: 0, lateUntilMs: now },
    query(unknown),
    { failures: 1, notBeforeMs: now, askedLast: true },
  ],
  [
    'the vendor does not know it',
    { ...polled, failures: 0 },
    query(notFound),
    { failures: 1, notBeforeMs: firstRetry, missingSinceMs: now },
  ],
  [
    'the vendor still does not know it',
    { ...polled, failures: 1, missingSinceMs: 500 },
    query(notFound),
    { failures: 2, notBeforeMs: secondRetry },
  ],
  [
    'the vendor has not known it for long',
    { ...polled, failures: 1, missingSinceMs: 0 },
    query(notFound),
    { failures: 2, notBeforeMs: secondRetry, missingSinceMs: Number.POSITIVE_INFINITY },
    ['warn_missing'],
  ],
  [
    'that was reported',
    { ...polled, failures: 1, missingSinceMs: Number.POSITIVE_INFINITY },
    query(notFound),
    { failures: 2, notBeforeMs: secondRetry },
  ],
  ['the vendor knows it again', { ...polled, missingSinceMs: 0 }, query(open), { ...progress, missingSinceMs: null }],
  [
    'a busy vendor does not deny it',
    { ...polled, failures: 0, missingSinceMs: 0 },
    query(busy),
    { failures: 1, notBeforeMs: firstRetry, missingSinceMs: null },
  ],

  // The end
  ['the verdict is recorded', { ...polled, verdict }, { type: 'verdict_recorded' }, { verdictRecorded: true }],
  ['the refusal is recorded', { ...held, failure }, { type: 'verdict_recorded' }, { failureRecorded: true }],
  ['the callback is queued', late, { type: 'callback_queued' }, { callbackQueued: true }],
  ['a step fails', { ...polled, failures: 0 }, { type: 'step_failed' }, { failures: 1, notBeforeMs: firstRetry }],
  ['a step fails before the hold comes', first, { type: 'step_failed' }, { failures: 1, notBeforeMs: firstRetry }],
  ['a step was not wanted any more', polled, { type: 'nothing_new' }, {}],
]

for (const [when, state, event, then, effects = []] of table)
  t.test(`${event.type}: ${when}`, async (t) => {
    const next = nextPollState(state, event, at, bounds)
    t.same(next.state, { ...state, ...then })
    t.same(
      next.effects.map(({ type }) => type),
      effects,
    )
  })

t.test('an item that comes for the first time may be submitted, one that came before not yet', async (t) => {
  t.match(first, { holdUntilMs: now + 300, findFromMs: null, inDoubt: false, notBeforeMs: now })
  t.match(again, { holdUntilMs: now + 300, findFromMs: doubtedUntil, inDoubt: true })
  t.equal(again.notBeforeMs, now + 2.5, 'the tasks of a process that died are spread over one pace')
})

t.test('from when another process may have the item, what is known here alone is in doubt', async (t) => {
  const states: readonly (readonly [TaskPollState, PollEvent, Partial<TaskPollState>])[] = [
    [held, { type: 'nothing_new' }, { findFromMs: null }],
    [held, submit(duplicate), { failure, findFromMs: doubtedUntil }],
    [{ ...held, failure }, { type: 'step_failed' }, { findFromMs: doubtedUntil }],
    [{ ...held, failure, findFromMs: 900 }, find(notFound, false), { findFromMs: doubtedUntil }],
    [{ ...held, failure }, changed(ended, 'HoldReleased'), { findFromMs: doubtedUntil }],
    [{ ...held, failure, inDoubt: true, findFromMs: 900 }, { type: 'nothing_new' }, { findFromMs: 900 }],
  ]
  for (const [state, event, known] of states)
    t.match(nextPollState(state, event, shared, bounds).state, { inDoubt: true, ...known }, event.type)
  t.match(beginPolling(1, null, shared, bounds), { inDoubt: true, findFromMs: null })
})
