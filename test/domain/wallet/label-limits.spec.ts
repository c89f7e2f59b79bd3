import fc from 'fast-check'
import t from 'tap'
import { initialAccounts } from '../../../src/domain/accounts/accounts.ts'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { decideWallet } from '../../../src/domain/wallet/decide.ts'
import { decideLabelLimits, findLabelLimits } from '../../../src/domain/wallet/decide-label-limits.ts'
import { applyCharge, applyToWallet, type WalletFact } from '../../../src/domain/wallet/evolve.ts'
import { endUserHolder, type Holder, type Labels, labelsOf, tagHolder } from '../../../src/domain/wallet/holders.ts'
import { walletLimits } from '../../../src/domain/wallet/limits.ts'
import { spendLimitsOf } from '../../../src/domain/wallet/spending.ts'
import {
  draftWallet,
  findLimitedHolders,
  findRemaining,
  initialWallet,
  isCounted,
  spendingOf,
  type Wallet,
} from '../../../src/domain/wallet/wallet.ts'
import type { Limits, Spend } from '../../../src/events/types.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const workspaceId = 'acme'
const deadline = '2026-12-31T12:00:00.000Z'
const day = '2026-11-21'
const alice = 'a1'.repeat(32)
const bob = 'b0'.repeat(32)
const team = tagHolder('team=search')

const credited: WalletFact = {
  type: 'WalletCredited',
  data: { workspaceId, amount: '100', reference: 'invoice-1', note: '' },
}
const limited = (named: { keyId?: string; tag?: string; endUser?: string }, spend?: Spend): WalletFact => ({
  type: 'LimitsSet',
  data: { workspaceId, ...named, limits: spend === undefined ? {} : { spend } },
})
const teamLimited = (spend?: Spend): WalletFact => limited({ tag: 'team=search' }, spend)
const aliceLimited = (spend?: Spend): WalletFact => limited({ endUser: alice }, spend)

const given = (...facts: readonly WalletFact[]): Wallet => {
  const wallet = initialWallet(workspaceId)
  for (const fact of [credited, ...facts]) applyToWallet(wallet, fact)
  return wallet
}

const labels: Labels = { tags: { team: 'search', env: 'prod' }, endUser: alice }

/** Of a request of `key-1`; what is decided is applied. */
const place = (wallet: Wallet, holdId: string, usd: string, named = labels, on = day) => {
  const holders = findLimitedHolders(wallet, 'key-1', named)
  const amountPicos = parseUsd(usd)
  const amounts = { minimumPicos: amountPicos, desiredPicos: amountPicos }
  const decision = decideWallet(
    { type: 'PlaceAllowance', holdId, ...amounts, holders, day: on, deadline, owner: 'edge-1' },
    wallet,
  )
  if ('facts' in decision) for (const fact of decision.facts) applyToWallet(wallet, fact)
  return decision
}

const charge = (wallet: Wallet, usd: string, holdId: string | null, named = labels) =>
  applyCharge(wallet, 'r1', parseUsd(usd), parseUsd(usd), holdId, { keyId: 'key-1', labels: named, day })

/** As `spent + held` of the total. */
const totals = (wallet: Wallet, holder: Holder): string => {
  const { spent, held } = spendingOf(wallet, holder)
  return `${formatUsd(spent.totalPicos)} + ${formatUsd(held.totalPicos)}`
}

t.test('a tag and an end user without limits are held and counted nowhere', async (t) => {
  const wallet = given()
  t.match(place(wallet, 'h1', '4'), { facts: [{ data: { keyId: undefined, tags: undefined, endUser: undefined } }] })
  charge(wallet, '3', 'h1')
  t.same([...wallet.spendings.keys()], ['key-1'])
  t.equal(wallet.limitedLabels, 0)
})

t.test('a hold names what has limits among key, tags and end user, and counts for each', async (t) => {
  const wallet = given(teamLimited({ day: '10' }), aliceLimited({ total: '5' }))
  const decision = place(wallet, 'h1', '4')
  t.match(decision, { facts: [{ data: { tags: { team: 'search' }, endUser: alice, day } }] })
  t.notMatch(decision, { facts: [{ data: { keyId: 'key-1' } }] })
  t.notMatch(decision, { facts: [{ data: { tags: { env: 'prod' } } }] })
  t.same([totals(wallet, team), totals(wallet, endUserHolder(alice))], ['0 + 4', '0 + 4'])
  charge(wallet, '1.5', 'h1')
  const counted = [team, endUserHolder(alice), 'key-1'].map((holder) => totals(wallet, holder))
  t.same(counted, ['1.5 + 2.5', '1.5 + 2.5', '1.5 + 0'])
  applyToWallet(wallet, { type: 'HoldReleased', data: { holdId: 'h1', workspaceId, reason: 'returned' } })
  t.same([totals(wallet, team), totals(wallet, endUserHolder(alice))], ['1.5 + 0', '1.5 + 0'])
})

t.test('the limit that leaves the least binds, and is the one that is named', async (t) => {
  const wallet = given(
    teamLimited({ day: '10' }),
    aliceLimited({ total: '5' }),
    limited({ keyId: 'key-1' }, { month: '3' }),
  )
  const reached = (holder: Holder, period: string) => ({
    refused: { reason: 'spend_limit_reached', remaining: { holder, period } },
  })
  t.match(place(wallet, 'h1', '3.1'), reached('key-1', 'month'))
  applyToWallet(wallet, limited({ keyId: 'key-1' }))
  t.match(place(wallet, 'h1', '5.1'), reached(endUserHolder(alice), 'total'))
  t.match(place(wallet, 'h1', '10.1', { ...labels, endUser: bob }), reached(team, 'day'))
  t.match(place(wallet, 'h1', '10', { ...labels, endUser: bob }), { facts: [{ data: { amount: '10' } }] })
  t.match(place(wallet, 'h2', '0.1'), reached(team, 'day'))
  t.match(place(wallet, 'h2', '0.1', {}), { facts: [{ data: { amount: '0.1' } }] }, 'another request is not bound')
})

t.test('the last day that began for one of them begins for all of them', async (t) => {
  const wallet = given(teamLimited({ day: '4' }), aliceLimited({ day: '4' }))
  place(wallet, 'h1', '4', { tags: { team: 'search' } }, '2026-11-22')
  t.match(place(wallet, 'h2', '0.5', labels, '2026-11-21'), { refused: { reason: 'spend_limit_reached' } })
  applyToWallet(wallet, { type: 'HoldReleased', data: { holdId: 'h1', workspaceId, reason: 'returned' } })
  t.match(place(wallet, 'h2', '4', labels, '2026-11-21'), { facts: [{ data: { day: '2026-11-22' } }] })
})

t.test('spending counts from the first limit on; a change keeps it, and lifting the limit ends it', async (t) => {
  const wallet = given()
  place(wallet, 'h1', '3')
  charge(wallet, '1', 'h1')
  applyToWallet(wallet, teamLimited({ total: '5' }))
  charge(wallet, '2', 'h1')
  t.equal(totals(wallet, team), '2 + 0', 'what was in flight continues, and counts')
  applyToWallet(wallet, teamLimited({ total: '6' }))
  t.equal(totals(wallet, team), '2 + 0')
  applyToWallet(wallet, teamLimited())
  t.equal(isCounted(wallet, team), false)
  t.equal(wallet.limitedLabels, 0)
  applyToWallet(wallet, teamLimited({ total: '6' }))
  t.equal(totals(wallet, team), '0 + 0')
})

t.test('a limit that is lifted and set again still counts what was held meanwhile, once', async (t) => {
  const wallet = given(aliceLimited({ total: '5' }))
  place(wallet, 'h1', '3')
  applyToWallet(wallet, aliceLimited())
  t.equal(isCounted(wallet, endUserHolder(alice)), true)
  applyToWallet(wallet, aliceLimited({ total: '4' }))
  t.match(place(wallet, 'h2', '1.1'), { refused: { reason: 'spend_limit_reached' } })
  applyToWallet(wallet, aliceLimited())
  charge(wallet, '3.5', 'h1')
  t.equal(isCounted(wallet, endUserHolder(alice)), false, 'nothing is held, and nothing limited')
  applyToWallet(wallet, { type: 'HoldReleased', data: { holdId: 'h1', workspaceId, reason: 'returned' } })
  applyToWallet(wallet, aliceLimited({ total: '4' }))
  t.equal(totals(wallet, endUserHolder(alice)), '0 + 0')
})

t.test('an undelivered answer is given back to all that it counted for', async (t) => {
  const wallet = given(teamLimited({ total: '5' }))
  place(wallet, 'h1', '3')
  charge(wallet, '3', 'h1')
  const data = { workspaceId, amount: '3', reason: 'undelivered', corrects: 'r1', note: '', day } as const
  const counted = { keyId: 'key-1', tags: { team: 'search' }, endUser: alice }
  applyToWallet(wallet, { type: 'AdjustmentPosted', data: { adjustmentId: 'a1', ...data, ...counted } })
  t.same([totals(wallet, team), totals(wallet, 'key-1')], ['0 + 0', '0 + 0'])
  t.equal(isCounted(wallet, endUserHolder(alice)), false)
})

t.test('facts tried on a draft leave limits and spending as they were', async (t) => {
  const wallet = given(teamLimited({ total: '5' }))
  const draft = draftWallet(wallet)
  applyToWallet(draft, teamLimited())
  applyToWallet(draft, aliceLimited({ total: '1' }))
  t.same([wallet.limitedLabels, draft.limitedLabels], [1, 1])
  t.same([findLabelLimits(wallet, team), findLabelLimits(draft, team)], [{ spend: { total: '5' } }, {}])
  t.equal(findRemaining(draft, [endUserHolder(alice)], day)?.leftPicos, parseUsd('1'))
  t.equal(findRemaining(wallet, [endUserHolder(alice)], day), null)
})

t.test('limits of a tag or an end user: what is decided', async (t) => {
  const accounts = initialAccounts()
  accounts.workspaces.set(workspaceId, { workspaceId, name: 'Acme', creditLimitPicos: 0n })
  const decide = (wallet: Wallet, label: Holder, limits: Limits, id = workspaceId) =>
    decideLabelLimits({ workspaceId: id, label, limits }, { wallet, accounts })
  const one = given(teamLimited({ day: '5', total: '7' }))
  t.match(decide(one, endUserHolder(alice), { spend: { day: '1.50' } }), {
    facts: [{ type: 'LimitsSet', data: { workspaceId, endUser: alice, limits: { spend: { day: '1.5' } } } }],
  })
  t.same(decide(one, team, { spend: { total: '7.0', day: '5' } }), { facts: [] }, 'unchanged')
  t.same(decide(one, endUserHolder(alice), {}), { facts: [] }, 'there were none')
  t.match(decide(one, team, {}), { facts: [{ data: { tag: 'team=search', limits: {} } }] })
  t.same(decide(one, team, { requestsPerMinute: 1 }), { refused: 'spend_only' })
  t.same(decide(one, team, { spend: { day: '1' } }, 'other'), { refused: 'workspace_unknown' })
  const full = { ...one, limitedLabels: walletLimits.limitedLabelsMax }
  t.same(decide(full, endUserHolder(alice), { spend: { day: '1' } }), { refused: 'too_many_limited' })
  t.match(decide(full, team, { spend: { day: '1' } }), { facts: [{}] }, 'a change of one that has limits')
})

const days = ['2026-10-30', '2026-10-31', '2026-11-01', '2026-11-02'] as const
const tags = [{}, { team: 'search' }, { team: 'search', env: 'prod' }, { env: 'prod' }]
const requests: readonly Labels[] = tags.flatMap((each) => [
  { tags: each },
  { tags: each, endUser: alice },
  { tags: each, endUser: bob },
])
const spends: Readonly<Record<Holder, Spend>> = {
  [team]: { day: '0.0000000001', total: '0.00000000025' },
  [tagHolder('env=prod')]: { month: '0.00000000015' },
  [endUserHolder(alice)]: { day: '0.00000000005', month: '0.0000000001', total: '0.0000000002' },
  'key-1': { total: '0.0000000004' },
}

const hold = fc.nat({ max: 8 })
const steps = fc.oneof(
  fc.record({
    do: fc.constant('place' as const),
    labels: fc.constantFrom(...requests),
    minimum: fc.nat({ max: 40 }),
    desired: fc.nat({ max: 120 }),
    late: fc.nat({ max: 1 }),
  }),
  fc.record({ do: fc.constant('end' as const), hold }),
  fc.record({ do: fc.constant('charge' as const), hold, share: fc.nat({ max: 100 }) }),
  fc.record({ do: fc.constant('lift' as const), holder: fc.constantFrom(team, endUserHolder(alice)) }),
  fc.constant({ do: 'nextDay' as const }),
)
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never

const namedBy = (holder: Holder) =>
  holder === 'key-1'
    ? { keyId: holder }
    : holder.startsWith('tag ')
      ? { tag: holder.slice('tag '.length) }
      : { endUser: holder.slice('end-user '.length) }

class Run {
  readonly wallet = given(...Object.entries(spends).map(([holder, spend]) => limited(namedBy(holder), spend)))
  readonly #asked = new Map<string, Labels>()
  #today = 0

  take(step: Step, index: number): void {
    const { wallet } = this
    const holdIds = [...wallet.holds.keys()]
    if (step.do === 'nextDay') this.#today = Math.min(this.#today + 1, days.length - 1)
    else if (step.do === 'place') this.#place(step, `h${index}`)
    else if (step.do === 'lift')
      for (const spend of [undefined, spends[step.holder]]) applyToWallet(wallet, limited(namedBy(step.holder), spend))
    else {
      const holdId = holdIds[step.hold]
      if (holdId === undefined) return
      if (step.do === 'end')
        applyToWallet(wallet, { type: 'HoldReleased', data: { holdId, workspaceId, reason: 'returned' } })
      else this.#charge(holdId, step.share)
    }
  }

  #place({ labels, minimum, desired, late }: Step & { do: 'place' }, holdId: string): void {
    const holders = findLimitedHolders(this.wallet, 'key-1', labels)
    const amounts = { minimumPicos: BigInt(minimum), desiredPicos: BigInt(desired) }
    const on = days[Math.max(0, this.#today - late)]!
    const decision = decideWallet(
      { type: 'PlaceAllowance', holdId, ...amounts, holders, day: on, deadline, owner: 'edge-1' },
      this.wallet,
    )
    if ('refused' in decision) return
    this.#asked.set(holdId, labels)
    for (const fact of decision.facts) applyToWallet(this.wallet, fact)
  }

  #charge(holdId: string, share: number): void {
    const { remainingPicos } = this.wallet.holds.get(holdId)!
    const picos = (remainingPicos * BigInt(share)) / 100n
    applyCharge(this.wallet, 'r', picos, picos, holdId, {
      keyId: 'key-1',
      labels: this.#asked.get(holdId)!,
      day: days[this.#today]!,
    })
  }
}

/** What is held of it is what its open holds have left, and nothing is beyond its limits. */
const isWithin = (wallet: Wallet, holder: Holder): boolean => {
  const { day: last, spent, held } = spendingOf(wallet, holder)
  const sumOf = (counts: (day: string) => boolean): bigint =>
    [...wallet.holds.values()].reduce(
      (sum, { spender, remainingPicos }) =>
        spender?.holders.includes(holder) && counts(spender.day) ? sum + remainingPicos : sum,
      0n,
    )
  return (
    held.dayPicos === sumOf((each) => each === last) &&
    held.monthPicos === sumOf((each) => each.slice(0, 7) === last.slice(0, 7)) &&
    held.totalPicos === sumOf(() => true) &&
    spendLimitsOf(spends[holder]).every(
      ({ period, limitPicos }) => spent[`${period}Picos`] + held[`${period}Picos`] <= limitPicos,
    )
  )
}

t.test(
  'no key, tag or end user goes beyond its limits, in any order of holds, charges, ends, limits and days',
  async () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 120 }), (sequence) => {
        const run = new Run()
        return sequence.every((step, index) => {
          run.take(step, index)
          return Object.keys(spends).every((holder) => isWithin(run.wallet, holder))
        })
      }),
      propertyRuns(300),
    )
  },
)

t.test('labels as text', async (t) => {
  t.same(labelsOf({ tags: { team: 'a=b', env: 'p q' }, endUser: alice }), [
    'tag env=p q',
    'tag team=a=b',
    `end-user ${alice}`,
  ])
  t.same(labelsOf({}), [])
})
