import t from 'tap'
import { decideAbandoned, decideKey } from '../../../src/domain/idempotency/decide.ts'
import type { ClaimedKey, KeyRecord, KeyRequest } from '../../../src/domain/idempotency/key.ts'

const claimed: ClaimedKey = {
  state: 'claimed',
  requestId: 'first',
  holder: 'first',
  digest: 'same',
  work: { type: 'request', keyId: 'key-1', surface: 'chat', stream: false },
  claimedMs: 1_000,
  leaseUntilMs: 21_000,
}
const settling: ClaimedKey = { ...claimed, holder: 'second' }
const answered: KeyRecord = { state: 'answered', requestId: 'first', digest: 'same', status: 200, headers: {} }
const unkept: KeyRecord = { state: 'unkept', requestId: 'first', digest: 'same', why: 'stream' }

const ask = (own: Partial<KeyRequest> = {}): KeyRequest => ({
  requestId: 'second',
  digest: 'same',
  nowMs: 1_000,
  ...own,
})

const rows: readonly (readonly [string, KeyRecord | null, KeyRequest, object])[] = [
  ['nothing stands', null, ask(), { type: 'claim' }],
  ['claimed by itself', claimed, ask({ requestId: 'first' }), { type: 'run', claim: claimed }],
  ['claimed by itself, late', claimed, ask({ requestId: 'first', nowMs: 99_000 }), { type: 'run', claim: claimed }],
  [
    'claimed by another',
    claimed,
    ask({ nowMs: 4_500 }),
    { type: 'refuse', reason: 'in_use', requestId: 'first', runsForMs: 3_500 },
  ],
  [
    'claimed by another whose clock is ahead',
    claimed,
    ask({ nowMs: 500 }),
    { type: 'refuse', reason: 'in_use', requestId: 'first', runsForMs: 0 },
  ],
  ['just before the lease ends', claimed, ask({ nowMs: 20_999 }), { type: 'refuse', reason: 'in_use' }],
  ['the lease has ended', claimed, ask({ nowMs: 21_000 }), { type: 'take_over', claim: claimed }],
  ['let go', { ...claimed, leaseUntilMs: 0 }, ask(), { type: 'take_over' }],
  ['another sees to its end', settling, ask({ requestId: 'third' }), { type: 'refuse', reason: 'in_use' }],
  ['it sees to the end itself', settling, ask(), { type: 'take_over', claim: settling }],
  ['another body while it runs', claimed, ask({ digest: 'other' }), { type: 'refuse', reason: 'reused' }],
  [
    'another body when it is left behind',
    claimed,
    ask({ digest: 'other', nowMs: 99_000 }),
    { type: 'refuse', reason: 'reused', requestId: 'first' },
  ],
  ['answered', answered, ask(), { type: 'replay', record: answered }],
  ['answered, another body', answered, ask({ digest: 'other' }), { type: 'refuse', reason: 'reused' }],
  ['not kept', unkept, ask(), { type: 'refuse', reason: 'not_kept', requestId: 'first' }],
  ['not kept, another body', unkept, ask({ digest: 'other' }), { type: 'refuse', reason: 'reused' }],
]

for (const [what, record, asked, decision] of rows)
  t.test(what, async (t) => {
    t.match(decideKey(record, asked), decision)
  })

const charged = { chargedUsd: '0.1', spender: { holders: ['k'], day: '2026-11-21' } }

t.test('what was left behind', async (t) => {
  const stream: ClaimedKey = { ...claimed, work: { type: 'request', keyId: 'k', surface: 'chat', stream: true } }
  const task: ClaimedKey = { ...claimed, work: { type: 'task', taskId: 'task_1' } }
  t.equal(decideAbandoned(claimed, { chargedUsd: null }), 'forget')
  t.equal(decideAbandoned(claimed, charged), 'give_back')
  t.equal(decideAbandoned(stream, { chargedUsd: null }), 'forget')
  t.equal(decideAbandoned(stream, charged), 'stays_charged', 'bytes of it may have been read')
  t.equal(decideAbandoned(task, charged), 'forget', 'a task is submitted again under its id')
})
