import t from 'tap'
import { nextStep, type PollState, type PollStep } from '../../../src/roles/video-poller/next-step.ts'
import { success } from './scripted-vendor.ts'

const now = 1_000
const later = 5_000

const begun: PollState = {
  task: null,
  deliveries: 1,
  holdUntilMs: later,
  absentMs: null,
  findFromMs: null,
  vendorHasNone: false,
  vendorTaskId: null,
  submittedRecorded: false,
  failure: null,
  verdict: null,
  verdictRecorded: false,
  callbackQueued: false,
  lateUntilMs: later,
  notBeforeMs: 0,
}

const open = { status: 'QUEUED', source: null, vendorTaskId: null, vendorCode: null } as const
const submitted = { ...open, status: 'SUBMITTED', vendorTaskId: 'v1' } as const
const released = { ...open, status: 'FAILURE' } as const
const releasedLater = { ...released, vendorTaskId: 'v1' } as const
const settled = { ...submitted, status: 'SUCCESS', source: 'reported' } as const
const refused = { ...released, source: 'reported', vendorCode: 1301 } as const
const refusedLater = { ...refused, vendorTaskId: 'v1' } as const
const lostRequest = { ...refused, vendorCode: null } as const
const told = { callbackQueued: true }
const verdict = success('v1')
const failure = { reason: 'no', code: 1301 }

const wait = (untilMs: number): PollStep => ({ type: 'wait', untilMs })
const refusal: PollStep = {
  type: 'settle',
  verdict: {
    outcome: 'FAILURE',
    vendorTaskId: null,
    deduction: null,
    failReason: 'no',
    vendorCode: 1301,
    results: [],
  },
}

const table: readonly (readonly [when: string, standing: Partial<PollState>, step: PollStep])[] = [
  // The hold
  ['no hold yet', {}, wait(later)],
  ['no hold in time', { holdUntilMs: now }, { type: 'look_up' }],
  ['no hold, and somebody had the item before', { deliveries: 2 }, { type: 'look_up' }],
  ['no hold, and the tables knew none a moment ago', { deliveries: 2, absentMs: 900 }, wait(later)],
  ['no hold in time, and the tables were asked before', { holdUntilMs: now, absentMs: 900 }, { type: 'look_up' }],
  ['no hold in time, and nobody knows any', { holdUntilMs: 900, absentMs: 950 }, { type: 'drop' }],
  ['a look-up that failed', { holdUntilMs: 900, notBeforeMs: later }, wait(later)],

  // To the vendor
  ['a task that is ours', { task: open }, { type: 'submit' }],
  ['a busy vendor', { task: open, notBeforeMs: later }, wait(later)],
  ['a doubt', { task: open, findFromMs: later }, wait(later)],
  ['a doubt that can be cleared', { task: open, findFromMs: now }, { type: 'find' }],
  ['a refusal, not looked up', { task: open, failure, findFromMs: now }, { type: 'find' }],
  ['a refusal that is sure', { task: open, failure }, refusal],
  ['taken', { task: open, vendorTaskId: 'v1' }, { type: 'record_submitted', vendorTaskId: 'v1' }],
  [
    'a refused duplicate that was found',
    { task: open, failure, vendorTaskId: 'v1' },
    { type: 'record_submitted', vendorTaskId: 'v1' },
  ],
  [
    'taken by another meanwhile',
    { task: submitted, failure, findFromMs: later },
    { type: 'query', vendorTaskId: 'v1' },
  ],
  [
    'the log has it, the tail does not tell yet',
    { task: open, vendorTaskId: 'v1', submittedRecorded: true },
    { type: 'query', vendorTaskId: 'v1' },
  ],
  [
    'the log names another than the vendor told here',
    { task: submitted, vendorTaskId: 'v2' },
    { type: 'query', vendorTaskId: 'v1' },
  ],
  ['submitted', { task: submitted }, { type: 'query', vendorTaskId: 'v1' }],
  [
    'submitted, handed out again',
    { task: submitted, deliveries: 3, findFromMs: later },
    { type: 'query', vendorTaskId: 'v1' },
  ],
  ['between two polls', { task: submitted, notBeforeMs: later }, wait(later)],

  // The end
  ['the vendor’s word', { task: submitted, verdict }, { type: 'settle', verdict }],
  [
    'the vendor’s word before it was recorded as taken',
    { task: open, vendorTaskId: 'v1', verdict },
    { type: 'settle', verdict },
  ],
  ['its word is in the log', { task: submitted, verdict, verdictRecorded: true }, wait(Number.POSITIVE_INFINITY)],
  ['settled', { task: settled }, { type: 'queue_callback' }],
  ['settled, and told', { task: settled, ...told }, { type: 'finish' }],
  ['settled by another, with a word of our own', { task: settled, verdict, ...told }, { type: 'finish' }],

  // One submit was refused, another may be with the vendor
  ['refused by the vendor', { task: refused, ...told }, { type: 'finish' }],
  ['its request was lost', { task: lostRequest, ...told }, { type: 'finish' }],
  ['refused here, and recorded', { task: refused, failure, verdictRecorded: true, ...told }, { type: 'finish' }],
  ['refused elsewhere, in doubt here', { task: refused, findFromMs: later, ...told }, wait(later)],
  ['refused elsewhere, and the doubt can be cleared', { task: refused, findFromMs: now, ...told }, { type: 'find' }],
  [
    'refused elsewhere, taken here',
    { task: refused, vendorTaskId: 'v1', ...told },
    { type: 'query', vendorTaskId: 'v1' },
  ],
  ['refused after the log had it as submitted', { task: refusedLater, ...told }, { type: 'query', vendorTaskId: 'v1' }],
  [
    'lost elsewhere, taken here',
    { task: lostRequest, vendorTaskId: 'v1', ...told },
    { type: 'query', vendorTaskId: 'v1' },
  ],
  ['refused elsewhere, ended here', { task: refused, verdict, ...told }, { type: 'record_late', verdict }],
  ['the same, recorded', { task: refused, verdict, verdictRecorded: true, ...told }, { type: 'finish' }],

  // The hold ended without its word
  ['released', { task: released }, { type: 'queue_callback' }],
  ['released, the callback not queued yet', { task: released, notBeforeMs: later }, wait(later)],
  ['released, and not submitted by this process', { task: released, ...told }, { type: 'find' }],
  ['released, and not at the vendor', { task: released, vendorHasNone: true, ...told }, { type: 'finish' }],
  ['released, refused', { task: released, failure, ...told }, { type: 'finish' }],
  ['released in doubt', { task: released, findFromMs: later - 1, ...told }, wait(later - 1)],
  ['released in doubt that can be cleared', { task: released, findFromMs: now, ...told }, { type: 'find' }],
  ['released, found since', { task: released, vendorTaskId: 'v1', ...told }, { type: 'query', vendorTaskId: 'v1' }],
  ['released after it was submitted', { task: releasedLater, ...told }, { type: 'query', vendorTaskId: 'v1' }],
  ['released long ago', { task: releasedLater, lateUntilMs: now, ...told }, { type: 'finish' }],
  ['the vendor’s word after that', { task: releasedLater, verdict, ...told }, { type: 'record_late', verdict }],
  ['that is recorded', { task: releasedLater, verdict, verdictRecorded: true, ...told }, { type: 'finish' }],
]

for (const [when, standing, step] of table)
  t.test(when, async (t) => {
    t.same(nextStep({ ...begun, ...standing }, now), step)
  })
