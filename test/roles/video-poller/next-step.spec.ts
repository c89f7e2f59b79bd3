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
  inDoubt: false,
  findFromMs: null,
  vendorTaskId: null,
  submittedRecorded: false,
  failure: null,
  failureRecorded: false,
  verdict: null,
  verdictRecorded: false,
  callbackQueued: false,
  askedLast: false,
  notBeforeMs: 0,
}

const open = { status: 'QUEUED', vendorTaskId: null } as const
const submitted = { status: 'SUBMITTED', vendorTaskId: 'v1' } as const
const ended = { status: 'FAILURE', vendorTaskId: null } as const
const endedLater = { ...ended, vendorTaskId: 'v1' } as const
const settled = { ...submitted, status: 'SUCCESS' } as const
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
  ['its refusal is in the log', { task: open, failure, failureRecorded: true }, wait(Number.POSITIVE_INFINITY)],
  ['settled', { task: settled, verdictRecorded: true }, { type: 'queue_callback' }],
  ['settled, and told', { task: settled, verdictRecorded: true, ...told }, { type: 'finish' }],
  [
    'settled by another, with a word of our own',
    { task: settled, verdict, verdictRecorded: true, ...told },
    { type: 'finish' },
  ],

  // It ended without a word of the vendor: refused, lost, or released
  ['ended', { task: ended }, { type: 'queue_callback' }],
  ['ended, the callback not queued yet', { task: ended, notBeforeMs: later }, wait(later)],
  ['no submit can be with the vendor', { task: ended, findFromMs: later, ...told }, { type: 'finish' }],
  [
    'the only submit was refused, and that is in the log',
    { task: ended, failure, failureRecorded: true, findFromMs: later, ...told },
    { type: 'finish' },
  ],
  [
    'refused here, and another submit may be with the vendor',
    { task: ended, failure, failureRecorded: true, inDoubt: true, findFromMs: later, ...told },
    wait(later),
  ],
  ['another submit may be with the vendor', { task: ended, inDoubt: true, findFromMs: later, ...told }, wait(later)],
  [
    'another submit may be with the vendor, and has timed out',
    { task: ended, inDoubt: true, findFromMs: now, ...told },
    { type: 'find' },
  ],
  ['the vendor has none', { task: ended, inDoubt: true, ...told }, { type: 'finish' }],
  ['ended long ago, in doubt', { task: ended, inDoubt: true, askedLast: true, ...told }, { type: 'finish' }],
  ['taken here', { task: ended, vendorTaskId: 'v1', ...told }, { type: 'query', vendorTaskId: 'v1' }],
  [
    'refused and found here',
    { task: ended, failure, vendorTaskId: 'v1', ...told },
    { type: 'query', vendorTaskId: 'v1' },
  ],
  ['ended after the log had it as submitted', { task: endedLater, ...told }, { type: 'query', vendorTaskId: 'v1' }],
  [
    'refused here after another had submitted it',
    { task: endedLater, failure, failureRecorded: true, ...told },
    { type: 'query', vendorTaskId: 'v1' },
  ],
  ['ended long ago', { task: endedLater, askedLast: true, ...told }, { type: 'finish' }],
  ['the vendor’s word after that', { task: endedLater, verdict, ...told }, { type: 'record_late', verdict }],
  ['that is recorded', { task: endedLater, verdict, verdictRecorded: true, ...told }, { type: 'finish' }],
  ['another has recorded it', { task: endedLater, verdictRecorded: true, ...told }, { type: 'finish' }],
]

for (const [when, standing, step] of table)
  t.test(when, async (t) => {
    t.same(nextStep({ ...begun, ...standing }, now), step)
  })
