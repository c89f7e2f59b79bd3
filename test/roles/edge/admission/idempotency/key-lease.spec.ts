import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { KeyLease } from '../../../../../src/roles/edge/admission/idempotency/key-lease.ts'
import type { OutcomeAddress } from '../../../../../src/roles/edge/admission/idempotency/outcome-store.ts'
import { admissionLimits } from '../../../../../src/roles/edge/admission/limits.ts'
import { runWhereLarge } from '../../../../../src/runtime/large-steps.ts'
import { sharedLimits } from '../../../../../src/runtime/limits.ts'
import { MemoryOutcomes } from '../../memory-outcomes.ts'

/** Whose puts go on when they may. */
class HeldOutcomes extends MemoryOutcomes {
  readonly begun: string[] = []
  readonly #goOn: Promise<void>

  constructor(goOn: Promise<void>) {
    super()
    this.#goOn = goOn
  }

  override async put(...[place, bytes, revision]: Parameters<MemoryOutcomes['put']>) {
    this.begun.push(place.keyDigest)
    await this.#goOn
    return super.put(place, bytes, revision)
  }
}

const storeLarge = (t: Test, outcomes: MemoryOutcomes, place: OutcomeAddress): Promise<void> => {
  const parts = { outcomes, outcomeLeaseMs: 3_600_000, outcomeRenewMs: 0, clock: () => 0 }
  const claim = { requestId: place.keyDigest, holder: place.keyDigest, digest: 'd', claimedMs: 0, leaseUntilMs: 0 }
  const lease = new KeyLease(
    { ...parts, logger: { log: (event) => t.fail(event) } },
    { place, room: { settle: () => undefined } },
    { state: 'claimed', work: { type: 'task', taskId: 'task' }, ...claim },
    0,
  )
  return lease.store({ status: 200, headers: {}, body: Buffer.alloc(2 * sharedLimits.turnBytes) })
}

t.test('a large answer that waits for long behind a slow write is stored beside it', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  const outcomes = new HeldOutcomes(goOn)
  const all = Promise.all(
    ['one', 'two', 'three'].map((keyDigest) => storeLarge(t, outcomes, { workspaceId: 'acme', keyDigest })),
  )
  const pass = async (ms: number): Promise<void> => {
    mock.timers.tick(ms)
    for (let turns = 0; turns < 20; turns += 1) await turn()
  }
  await pass(1_000)
  t.same(outcomes.begun, ['one'])
  while (outcomes.begun.length < 3) await pass(1_000) // The pace is of real time, which a busy machine has less of.
  t.same(outcomes.begun, ['one', 'two', 'three'])
  finish()
  await all
})

t.test('large answers that have waited for long are stored one in a turn, not all at once', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  const outcomes = new HeldOutcomes(goOn)
  const places = Array.from({ length: 20 }, (_, place) => ({ workspaceId: 'acme', keyDigest: `${place}` }))
  const all = Promise.all(places.map((place) => storeLarge(t, outcomes, place)))
  let [begun, most] = [0, 0]
  const watchTurns = async (): Promise<void> => {
    for (let turns = 0; turns < 60; turns += 1) {
      await turn()
      most = Math.max(most, outcomes.begun.length - begun)
      begun = outcomes.begun.length
    }
  }
  for (; begun === 0; mock.timers.tick(10)) await watchTurns() // The pace is of real time.
  t.equal(begun, 1)
  mock.timers.tick(admissionLimits.largeOutcomeWaitMs)
  for (let waitedMs = 0; begun < places.length && waitedMs < 60_000; waitedMs += 1_000) {
    await watchTurns()
    mock.timers.tick(1_000)
  }
  t.same([begun, most], [places.length, 1])
  finish()
  await all
})

t.test('a large answer whose workspace has other large steps before it keeps none from the store', async (t) => {
  const outcomes = new HeldOutcomes(Promise.resolve())
  const busy = ['a', 'b'].flatMap((workspaceId) =>
    Array.from({ length: 5 }, () =>
      runWhereLarge({ workspaceId, bytes: 2 * sharedLimits.turnBytes }, () => {
        for (const endMs = performance.now() + 5; performance.now() < endMs; );
      }),
    ),
  )
  await Promise.all(['a', 'b', 'c'].map((id) => storeLarge(t, outcomes, { workspaceId: id, keyDigest: id })))
  t.same(outcomes.begun, ['c', 'a', 'b'])
  await Promise.all(busy)
})

t.test('large answers of a workspace are stored at a pace, those of another beside them', async (t) => {
  const begunMs = new Map<string, number>()
  const outcomes = new (class extends MemoryOutcomes {
    override async put(...[place, bytes, revision]: Parameters<MemoryOutcomes['put']>) {
      begunMs.set(place.keyDigest, performance.now())
      return super.put(place, bytes, revision)
    }
  })()
  const atPaceMs = (2 * sharedLimits.turnBytes) / admissionLimits.largeOutcomeBytesPerMs
  const places = [
    ...Array.from({ length: 20 }, (_, place) => ({ workspaceId: 'acme', keyDigest: `acme-${place}` })),
    { workspaceId: 'other', keyDigest: 'other' },
  ]
  const beganMs = performance.now()
  await Promise.all(places.map((place) => storeLarge(t, outcomes, place)))
  const tookMs = begunMs.get('acme-19')! - beganMs
  t.ok(tookMs >= 18 * (atPaceMs - 1), `after ${tookMs} ms`)
  t.ok(begunMs.get('other')! < begunMs.get('acme-2')!)
})
