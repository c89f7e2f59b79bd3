import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { decideWallet, type WalletCommand } from '../../../src/domain/wallet/decide.ts'
import { applyCharge, applyToWallet, type Movement } from '../../../src/domain/wallet/evolve.ts'
import {
  availablePicos,
  balancePicos,
  draftWallet,
  initialWallet,
  type Wallet,
} from '../../../src/domain/wallet/wallet.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const day = '2026-11-21'
const asker = { keyId: 'key-1', day }

const startMs = Date.parse('2027-01-31T10:00:00.000Z')
const dayMs = 86_400_000

/** Amounts in picos. `share`: percent of what the command could take; `within`: charges that are stored between a decision and its facts. */
interface Step {
  readonly do: 'credit' | 'hold' | 'release' | 'charge' | 'stray' | 'adjust' | 'lapse' | 'subscribe' | 'end' | 'cancel'
  readonly amount: number
  readonly days: number
  readonly pick: number
  readonly share: number
  readonly within: readonly number[]
}

const kinds = ['credit', 'hold', 'release', 'charge', 'stray', 'adjust', 'lapse', 'subscribe', 'end', 'cancel'] as const
const percent = fc.nat({ max: 100 })

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    do: fc.constantFrom(...kinds, 'credit', 'hold', 'charge', 'charge', 'lapse', 'lapse'),
    amount: fc.integer({ min: 1, max: 1_000 }),
    days: fc.nat({ max: 5 }),
    pick: fc.nat({ max: 50 }),
    share: percent,
    within: fc.array(percent, { maxLength: 2 }),
  }),
  { maxLength: 150 },
)

const isoAfter = (days: number): string => new Date(startMs + days * dayMs).toISOString()
const picked = <T>(all: readonly T[], pick: number): T | undefined => all[pick % Math.max(1, all.length)]

const subscription = ({ amount, share, days }: Step, index: number): WalletCommand => ({
  type: 'Subscribe',
  subscriptionId: `sub-${index}`,
  terms: {
    ...{ planId: 'pro', name: 'Pro', period: 'day', limits: {} },
    price: formatUsd(BigInt(amount)),
    includedCredit: formatUsd(BigInt(share)),
  },
  startsAtMs: startMs + days * dayMs,
  renews: true,
  again: true,
})

const endOfPeriod = ({ subscription }: Wallet): WalletCommand => ({
  type: 'EndPeriod',
  subscriptionId: subscription?.subscriptionId ?? 'none',
  expiresAtMs: subscription?.expiresAtMs ?? 0,
  terms: subscription?.terms ?? { planId: 'x', name: '', price: '0', period: 'day', includedCredit: '0', limits: {} },
})

const commandOf = (wallet: Wallet, step: Step, index: number): WalletCommand => {
  const hold = picked([...wallet.holds.keys()], step.pick) ?? 'none'
  const expiresAt = step.days === 0 ? undefined : isoAfter(step.days)
  switch (step.do) {
    case 'credit':
      return { type: 'Credit', amountPicos: BigInt(step.amount), reference: `ref-${index}`, note: '', expiresAt }
    case 'hold':
      return {
        ...{ type: 'PlaceAllowance', holdId: `hold-${index}`, deadline: isoAfter(9), owner: 'edge', holders: [], day },
        minimumPicos: 1n,
        desiredPicos: BigInt(step.amount),
      }
    case 'release':
      return { type: 'ReleaseHold', holdId: hold, reason: 'returned' }
    case 'lapse':
      return { type: 'LapseCredit', reference: picked(wallet.grants, step.pick)?.reference ?? 'none' }
    case 'subscribe':
      return subscription(step, index)
    case 'end':
      return endOfPeriod(wallet)
    default:
      return { type: 'CancelPlan' }
  }
}

/** A request within its reservation. */
const chargeHeld = (wallet: Wallet, pick: number, share: number, reference: string): readonly Movement[] => {
  const hold = picked([...wallet.holds.values()], pick)
  if (hold === undefined) return []
  const amountPicos = (hold.remainingPicos * BigInt(share)) / 100n
  return applyCharge(wallet, reference, amountPicos, amountPicos, hold.holdId, asker)
}

const adjust = (wallet: Wallet, amountPicos: bigint, adjustmentId: string): readonly Movement[] =>
  applyToWallet(wallet, {
    type: 'AdjustmentPosted',
    data: {
      ...{ adjustmentId, workspaceId: 'acme', reason: 'reconciliation', corrects: 'r', note: '' },
      amount: formatUsd(amountPicos),
    },
  })

/** What a decision says is stored when other requests have been billed since; it does what it says all the same. */
const runCommand = (wallet: Wallet, step: Step, index: number): readonly Movement[] => {
  const decision = decideWallet(commandOf(wallet, step, index), draftWallet(wallet))
  if ('refused' in decision) return []
  const between = step.within.flatMap((share, place) =>
    chargeHeld(wallet, step.pick + place, share, `w${index}-${place}`),
  )
  const moved = decision.facts.flatMap((fact) => {
    const movements = applyToWallet(wallet, fact)
    if (fact.type === 'CreditExpired')
      assert.deepEqual(
        movements.map(({ amountPicos }) => -amountPicos),
        [parseUsd(fact.data.amount)],
      )
    return movements
  })
  return [...between, ...moved]
}

const runStep = (wallet: Wallet, step: Step, index: number): readonly Movement[] => {
  const { amount, pick, share } = step
  if (step.do === 'charge') return chargeHeld(wallet, pick, share, `r${index}`)
  // Without a hold: of one that had ended. No more than there is, as no hold was covered otherwise.
  const free = availablePicos(wallet) > 0n ? availablePicos(wallet) : 0n
  if (step.do === 'stray') {
    const total = (free * BigInt(share)) / 100n
    return applyCharge(wallet, `r${index}`, total, total, null, asker)
  }
  if (step.do === 'adjust') return adjust(wallet, pick % 2 === 0 ? BigInt(amount) : -free, `a${index}`)
  return runCommand(wallet, step, index)
}

const kindsOf = { credit: 1n, charge: 1n, excess: 1n, fee: 1n, adjustment: 1n, lapse: 1n, hold: 0n, release: 0n }

t.test('whatever comes in whatever order, credits that lapse keep their rules', async () => {
  fc.assert(
    fc.property(steps, fc.constantFrom(0n, 500n), (sequence, creditLimitPicos) => {
      const wallet = { ...initialWallet('acme'), creditLimitPicos }
      const given = new Map<string, bigint>()
      const lapsed = new Map<string, bigint>()
      let balance = 0n
      for (const [index, step] of sequence.entries()) {
        for (const { kind, amountPicos, reference } of runStep(wallet, step, index)) {
          balance += kindsOf[kind] * amountPicos
          if (kind === 'credit') given.set(reference, amountPicos)
          if (kind === 'lapse') lapsed.set(reference, (lapsed.get(reference) ?? 0n) - amountPicos)
        }
        const { creditsPicos, chargesPicos, feesPicos, adjustmentsPicos, lapsedPicos } = wallet
        assert.equal(balance, creditsPicos - chargesPicos - feesPicos + adjustmentsPicos - lapsedPicos)
        assert.equal(balancePicos(wallet), balance)
        assert.ok(availablePicos(wallet) >= 0n, 'every hold is covered')
        for (const { remainingPicos, reference } of wallet.grants) {
          assert.ok(remainingPicos > 0n)
          assert.ok(remainingPicos + (lapsed.get(reference) ?? 0n) <= given.get(reference)!)
        }
        assert.deepEqual(
          wallet.grants.map(({ expiresAtMs }) => expiresAtMs),
          wallet.grants.map(({ expiresAtMs }) => expiresAtMs).toSorted((one, other) => one - other),
        )
      }
    }),
    propertyRuns(200),
  )
})
