import t from 'tap'
import { sharedLimits } from '../../src/runtime/limits.ts'
import { waitUntilSequence } from '../../src/runtime/wait-until-sequence.ts'

const { tablesPollMs } = sharedLimits

/** Reads one after another, the last again and again. */
const readsOf = (...reads: readonly number[]) => {
  const seen = { times: 0 }
  return { seen, read: async () => reads[Math.min(seen.times++, reads.length - 1)] ?? 0 }
}

for (const [when, reads, pauses, whileMoving, at, times] of [
  ['it is there at once', [5], 2, false, 5, 1],
  ['it is beyond', [7], 2, false, 7, 1],
  ['it comes at the last moment', [3, 4, 5], 2, false, 5, 3],
  ['it comes too late', [2, 3, 4, 5], 2, false, 4, 3],
  ['it comes late, but moves', [1, 2, 3, 4, 5], 2, true, 5, 5],
  ['it moves, then rests', [3, 4, 4, 4, 5], 2, true, 4, 4],
  ['it never moves', [0], 2, true, 0, 3],
] as const)
  t.test(when, async (t) => {
    const { seen, read } = readsOf(...reads)
    t.equal(await waitUntilSequence(5, { read, pausesMs: pauses * tablesPollMs, whileMoving }), at)
    t.equal(seen.times, times)
  })

t.test('a read that fails is not repeated', async (t) => {
  await t.rejects(waitUntilSequence(1, { read: () => Promise.reject(new Error('away')), pausesMs: 1_000 }), /away/)
})
