import fc from 'fast-check'
import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { decideWallet, type WalletCommand } from '../../../src/domain/wallet/decide.ts'
import { applyCharge, applyHoldSettlement, applyToWallet, type WalletFact } from '../../../src/domain/wallet/evolve.ts'
import {
  addSpending,
  dayEndsMs,
  limitRenewalMs,
  noSpending,
  type Spending,
  spendLimitsOf,
} from '../../../src/domain/wallet/spending.ts'
import {
  availablePicos,
  draftWallet,
  findRemaining,
  initialWallet,
  spendingOf,
  type Wallet,
} from '../../../src/domain/wallet/wallet.ts'
import type { Spend } from '../../../src/events/types.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { orderOf } from '../video/tasks.ts'

const deadline = '2026-12-31T12:00:00.000Z'
const workspaceId = 'acme'

const credited = (amount: string): WalletFact => ({
  type: 'WalletCredited',
  data: { workspaceId, amount, reference: 'invoice-1', note: '' },
})
const limited = (spend: Spend | undefined, keyId = 'key-1'): WalletFact => ({
  type: 'LimitsSet',
  data: { workspaceId, keyId, limits: spend === undefined ? {} : { spend } },
})
const held = (holdId: string, amount: string, keyId = 'key-1', day = '2026-11-21'): WalletFact => ({
  type: 'HoldPlaced',
  data: { holdId, workspaceId, purpose: 'allowance', amount, deadline, owner: 'edge-1', keyId, day },
})
const released = (holdId: string): WalletFact => ({
  type: 'HoldReleased',
  data: { holdId, workspaceId, reason: 'returned' },
})

const given = (...facts: readonly WalletFact[]): Wallet => {
  const wallet = initialWallet(workspaceId)
  for (const fact of facts) applyToWallet(wallet, fact)
  return wallet
}

const charge = (wallet: Wallet, usd: string, holdId: string | null, keyId = 'key-1', day = '2026-11-21') =>
  applyCharge(wallet, 'r1', parseUsd(usd), parseUsd(usd), holdId, { keyId, day })

/** As `day: spent day/month/total, held day/month/total`. */
const told = ({ day, spent, held }: Spending): string => {
  const figures = [spent, held].map(({ dayPicos, monthPicos, totalPicos }) =>
    [dayPicos, monthPicos, totalPicos].map(formatUsd).join('/'),
  )
  return `${day}: ${figures.join(', ')}`
}
const tellOf = (wallet: Wallet, keyId = 'key-1'): string => told(spendingOf(wallet, keyId))

const place = (
  minimum: string,
  desired: string,
  day = '2026-11-21',
  keyId: string | null = 'key-1',
): WalletCommand => ({
  type: 'PlaceAllowance',
  holdId: 'h9',
  minimumPicos: parseUsd(minimum),
  desiredPicos: parseUsd(desired),
  holders: keyId === null ? [] : [keyId],
  day,
  deadline,
  owner: 'edge-1',
})

const placed = (wallet: Wallet, command: WalletCommand): string => {
  const decision = decideWallet(command, wallet)
  if ('refused' in decision) return decision.refused.reason
  const [fact] = decision.facts
  return fact?.type === 'HoldPlaced' ? `${fact.data.amount} ${fact.data.keyId} ${fact.data.day}` : 'nothing'
}

t.test('what a key holds and spends is counted for the day of its hold', async (t) => {
  const wallet = given(credited('100'), held('h1', '4'))
  t.equal(tellOf(wallet), '2026-11-21: 0/0/0, 4/4/4')
  charge(wallet, '1.5', 'h1', 'key-1', '2026-11-22')
  t.equal(tellOf(wallet), '2026-11-21: 1.5/1.5/1.5, 2.5/2.5/2.5', 'the day on which it was asked does not matter')
  applyToWallet(wallet, held('h2', '1', 'key-1', '2026-11-22'))
  t.equal(tellOf(wallet), '2026-11-22: 0/1.5/1.5, 1/3.5/3.5')
  charge(wallet, '0.5', 'h1')
  t.equal(tellOf(wallet), '2026-11-22: 0/2/2, 1/3/3', 'a hold of yesterday is spent for yesterday')
  applyToWallet(wallet, held('h3', '1', 'key-1', '2026-12-01'))
  t.equal(tellOf(wallet), '2026-12-01: 0/0/2, 1/1/4')
  applyToWallet(wallet, released('h1'))
  applyToWallet(wallet, released('h2'))
  t.equal(tellOf(wallet), '2026-12-01: 0/0/2, 1/1/1')
  charge(wallet, '3', 'h3')
  t.equal(tellOf(wallet), '2026-12-01: 3/3/5, 0/0/0', 'what goes beyond a hold is spent too')
})

t.test('what shared allowances paid for is counted for the key that asked, and never held for it', async (t) => {
  const wallet = given(credited('100'))
  applyToWallet(wallet, {
    type: 'HoldPlaced',
    data: { holdId: 'h1', workspaceId, purpose: 'allowance', amount: '4', deadline, owner: 'edge-1' },
  })
  charge(wallet, '1', 'h1', 'key-1', '2026-11-21')
  charge(wallet, '2', 'h1', 'key-2', '2026-11-22')
  charge(wallet, '1', null, 'key-1', '2026-11-20')
  t.equal(tellOf(wallet), '2026-11-21: 1/2/2, 0/0/0')
  t.equal(tellOf(wallet, 'key-2'), '2026-11-22: 2/2/2, 0/0/0')
  applyToWallet(wallet, released('h1'))
  t.equal(tellOf(wallet), '2026-11-21: 1/2/2, 0/0/0')
})

t.test('a video counts for its key and the day on which it was asked, whenever it is done', async (t) => {
  const wallet = given(credited('100'))
  const hold = (taskId: string, time: string) =>
    applyToWallet(wallet, {
      type: 'HoldPlaced',
      data: {
        ...{ holdId: taskId, workspaceId, purpose: 'task', amount: '6', deadline, owner: 'edge-1' },
        task: orderOf({ keyId: 'key-1' }),
      },
      time,
    })
  hold('task-1', '2026-11-30T23:59:59.999Z')
  hold('task-2', '2026-12-01T00:00:00.000Z')
  t.equal(tellOf(wallet), '2026-12-01: 0/0/0, 6/6/12')
  applyHoldSettlement(wallet, 'task-1', parseUsd('5'))
  applyHoldSettlement(wallet, 'task-2', parseUsd('7'))
  t.equal(tellOf(wallet), '2026-12-01: 7/7/12, 0/0/0')
})

t.test('a charge that is taken back is given back to the key that is named, for the day that is named', async (t) => {
  const wallet = given(credited('100'))
  charge(wallet, '5', null)
  const adjust = (adjustmentId: string, spender: { keyId?: string; day?: string }) =>
    applyToWallet(wallet, {
      type: 'AdjustmentPosted',
      data: { adjustmentId, workspaceId, amount: '1', reason: 'undelivered', corrects: 'r1', note: '', ...spender },
    })
  adjust('a1', { keyId: 'key-1', day: '2026-11-21' })
  adjust('a1', { keyId: 'key-1', day: '2026-11-21' })
  t.equal(tellOf(wallet), '2026-11-21: 4/4/4, 0/0/0', 'once')
  adjust('a2', { keyId: 'key-1', day: '2026-11-20' })
  adjust('a3', { keyId: 'key-1' })
  t.equal(tellOf(wallet), '2026-11-21: 4/3/2, 0/0/0')
  adjust('a4', {})
  t.equal(tellOf(wallet), '2026-11-21: 4/3/2, 0/0/0', 'to no key')
})

t.test('a hold takes no more than the key may spend, nor than the wallet has', async (t) => {
  const rows: readonly (readonly [what: string, Wallet, WalletCommand, string])[] = [
    ['as desired', given(credited('100'), limited({ day: '10' })), place('1', '3'), '3 key-1 2026-11-21'],
    ['half of what is left', given(credited('100'), limited({ day: '10' })), place('1', '9'), '5 key-1 2026-11-21'],
    [
      'what one request needs',
      given(credited('100'), limited({ day: '10' })),
      place('10', '10'),
      '10 key-1 2026-11-21',
    ],
    [
      'and not more',
      given(credited('100'), limited({ day: '10' })),
      place('10.000000000001', '11'),
      'spend_limit_reached',
    ],
    ['the wallet', given(credited('3'), limited({ day: '10' })), place('3.1', '4'), 'insufficient'],
    [
      'the least limit',
      given(credited('9'), limited({ day: '9', month: '2', total: '8' })),
      place('2.1', '3'),
      'spend_limit_reached',
    ],
    ['nothing at all', given(credited('9'), limited({ total: '0' })), place('0', '1'), 'spend_limit_reached'],
    [
      'another key',
      given(credited('9'), limited({ total: '0' })),
      place('9', '9', '2026-11-21', 'key-2'),
      '9 key-2 2026-11-21',
    ],
    [
      'shared allowances',
      given(credited('9'), limited({ total: '0' })),
      place('9', '9', '2026-11-21', null),
      '9 undefined undefined',
    ],
    [
      'lifted',
      given(credited('9'), limited({ total: '0' }), limited(undefined)),
      place('9', '9'),
      '9 key-1 2026-11-21',
    ],
    [
      'held by others',
      given(credited('9'), limited({ day: '5' }), held('h1', '3')),
      place('2.1', '3'),
      'spend_limit_reached',
    ],
    [
      'another day',
      given(credited('9'), limited({ day: '5' }), held('h1', '3')),
      place('5', '5', '2026-11-22'),
      '5 key-1 2026-11-22',
    ],
    [
      'the same month',
      given(credited('9'), limited({ month: '5' }), held('h1', '3')),
      place('2.1', '5', '2026-11-22'),
      'spend_limit_reached',
    ],
    [
      'another month',
      given(credited('9'), limited({ month: '5' }), held('h1', '3')),
      place('5', '5', '2026-12-01'),
      '5 key-1 2026-12-01',
    ],
    [
      'for ever',
      given(credited('9'), limited({ total: '5' }), held('h1', '3')),
      place('2.1', '5', '2027-12-01'),
      'spend_limit_reached',
    ],
    [
      'a clock behind',
      given(credited('9'), limited({ day: '5' }), held('h1', '3')),
      place('2', '2', '2026-11-20'),
      '2 key-1 2026-11-21',
    ],
  ]
  for (const [what, wallet, command, expected] of rows) t.equal(placed(wallet, command), expected, what)
})

t.test('a limit that is set later counts what was spent before', async (t) => {
  const wallet = given(credited('100'))
  charge(wallet, '3', null)
  applyToWallet(wallet, limited({ day: '5', month: '100' }))
  t.equal(placed(wallet, place('2', '2')), '2 key-1 2026-11-21')
  t.equal(placed(wallet, place('2.1', '2.1')), 'spend_limit_reached')
  t.equal(placed(wallet, place('5', '5', '2026-11-22')), '5 key-1 2026-11-22')
})

t.test('a video is covered whole by what the key may spend, or refused', async (t) => {
  const wallet = given(credited('100'), limited({ total: '6' }, 'key_1'))
  const order = orderOf()
  const command = (amount: string): WalletCommand => ({
    ...{ type: 'PlaceTaskHold', taskId: 'task_1', amountPicos: parseUsd(amount), day: '2026-11-21', deadline },
    ...{ owner: 'edge-1', order },
  })
  t.match(decideWallet(command('6'), wallet), { facts: [{ data: { day: '2026-11-21', task: { keyId: 'key_1' } } }] })
  t.match(decideWallet(command('6.1'), wallet), {
    refused: { reason: 'spend_limit_reached', remaining: { period: 'total', leftPicos: parseUsd('6'), heldPicos: 0n } },
  })
})

t.test('facts tried on a draft leave what the key spent as it was', async (t) => {
  const wallet = given(credited('100'), limited({ day: '5' }), held('h1', '3'))
  const draft = draftWallet(wallet)
  applyToWallet(draft, held('h2', '2'))
  applyToWallet(draft, limited({ day: '50' }))
  t.equal(findRemaining(draft, ['key-1'], '2026-11-21')?.leftPicos, parseUsd('45'))
  t.equal(findRemaining(wallet, ['key-1'], '2026-11-21')?.leftPicos, parseUsd('2'))
})

t.test('when limits renew', async (t) => {
  const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
  t.equal(iso(dayEndsMs('2026-12-31')), '2027-01-01T00:00:00.000Z')
  t.equal(iso(limitRenewalMs('day', '2028-02-28')), '2028-02-29T00:00:00.000Z')
  t.equal(iso(limitRenewalMs('month', '2026-12-31')), '2027-01-01T00:00:00.000Z')
  t.equal(iso(limitRenewalMs('month', '2026-01-31')), '2026-02-01T00:00:00.000Z')
  t.equal(limitRenewalMs('total', '2026-12-31'), null)
  t.same(spendLimitsOf({ month: '1', total: '2' }), [
    { period: 'month', limitPicos: parseUsd('1') },
    { period: 'total', limitPicos: parseUsd('2') },
  ])
})

const days = ['2026-10-30', '2026-10-31', '2026-11-01', '2026-11-02', '2026-11-30']

t.test('in whichever order: what counts for the last day, for its month, and all', async () => {
  const item = fc.record({ day: fc.constantFrom(...days), spent: fc.integer({ min: -9, max: 99 }) })
  fc.assert(
    fc.property(fc.array(item, { minLength: 1 }), (items) => {
      const spending = items.reduce(
        (before, { day, spent }) => addSpending(before, day, { spentPicos: BigInt(spent) }),
        noSpending,
      )
      const last = items
        .map(({ day }) => day)
        .sort()
        .at(-1)!
      const sumOf = (counts: (day: string) => boolean): bigint =>
        items.reduce((sum, { day, spent }) => (counts(day) ? sum + BigInt(spent) : sum), 0n)
      return (
        spending.day === last &&
        spending.spent.dayPicos === sumOf((day) => day === last) &&
        spending.spent.monthPicos === sumOf((day) => day.startsWith(last.slice(0, 7))) &&
        spending.spent.totalPicos === sumOf(() => true)
      )
    }),
  )
})

type Step =
  | {
      readonly do: 'place'
      readonly key: number
      readonly minimum: number
      readonly desired: number
      readonly late: number
    }
  | { readonly do: 'task'; readonly key: number; readonly amount: number }
  | { readonly do: 'end'; readonly hold: number }
  | { readonly do: 'charge'; readonly hold: number; readonly share: number }
  | { readonly do: 'nextDay' }

const key = fc.nat({ max: 2 })
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('place' as const),
    key,
    minimum: fc.nat({ max: 60 }),
    desired: fc.nat({ max: 200 }),
    late: fc.nat({ max: 1 }),
  }),
  fc.record({ do: fc.constant('task' as const), key, amount: fc.integer({ min: 1, max: 60 }) }),
  fc.record({ do: fc.constant('end' as const), hold: fc.nat({ max: 8 }) }),
  fc.record({ do: fc.constant('charge' as const), hold: fc.nat({ max: 8 }), share: fc.nat({ max: 100 }) }),
  fc.constant({ do: 'nextDay' as const }),
)

const limitsOfKeys: readonly Spend[] = [
  { day: '0.0000000001', total: '0.00000000025' },
  { month: '0.00000000015' },
  { day: '0.00000000005', month: '0.0000000001', total: '0.0000000002' },
]

const commandOf = (step: Step & { do: 'place' | 'task' }, index: number, today: number): WalletCommand =>
  step.do === 'place'
    ? {
        type: 'PlaceAllowance',
        holdId: `h${index}`,
        minimumPicos: BigInt(step.minimum),
        desiredPicos: BigInt(step.desired),
        holders: [`key-${step.key}`],
        day: days[Math.max(0, today - step.late)]!,
        deadline,
        owner: 'edge-1',
      }
    : {
        type: 'PlaceTaskHold',
        taskId: `h${index}`,
        amountPicos: BigInt(step.amount),
        day: days[today]!,
        deadline,
        owner: 'edge-1',
        order: orderOf({ keyId: `key-${step.key}`, requestDigest: String(index).padStart(64, '0') }),
      }

const isWithin = (wallet: Wallet, keyId: string, spend: Spend): boolean => {
  const { day, spent, held } = spendingOf(wallet, keyId)
  const open = [...wallet.holds.values()].filter(({ spender }) => spender?.holders.includes(keyId))
  const sumOf = (counts: (day: string) => boolean): bigint =>
    open.reduce((sum, { spender, remainingPicos }) => (counts(spender!.day) ? sum + remainingPicos : sum), 0n)
  return (
    held.dayPicos === sumOf((each) => each === day) &&
    held.monthPicos === sumOf((each) => each.slice(0, 7) === day.slice(0, 7)) &&
    held.totalPicos === sumOf(() => true) &&
    spendLimitsOf(spend).every(
      ({ period, limitPicos }) => spent[`${period}Picos`] + held[`${period}Picos`] <= limitPicos,
    )
  )
}

t.test('keys with limits, in any order of holds, charges, ends and days, never go beyond them', async () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 200 }), (sequence) => {
      const wallet = given(
        credited('0.0000000005'),
        ...limitsOfKeys.map((spend, each) => limited(spend, `key-${each}`)),
      )
      let today = 0
      for (const [index, step] of sequence.entries()) {
        const open = [...wallet.holds.values()]
        if (step.do === 'nextDay') today = Math.min(today + 1, days.length - 1)
        else if (step.do === 'place' || step.do === 'task') {
          const decision = decideWallet(commandOf(step, index, today), wallet)
          if ('facts' in decision) for (const fact of decision.facts) applyToWallet(wallet, fact)
        } else {
          const hold = open[step.hold % Math.max(1, open.length)]
          if (hold === undefined) continue
          const share = step.do === 'charge' ? (hold.remainingPicos * BigInt(step.share)) / 100n : 0n
          if (step.do === 'end') applyToWallet(wallet, released(hold.holdId))
          else if (hold.purpose === 'task') applyHoldSettlement(wallet, hold.holdId, share)
          else applyCharge(wallet, `r${index}`, share, share, hold.holdId, { keyId: 'key-9', day: days[today]! })
        }
        if (availablePicos(wallet) < 0n) return false
        if (!limitsOfKeys.every((spend, each) => isWithin(wallet, `key-${each}`, spend))) return false
      }
      return true
    }),
    propertyRuns(100),
  )
})
