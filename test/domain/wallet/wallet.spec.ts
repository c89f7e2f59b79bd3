import fc from 'fast-check'
import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { decideWallet, type WalletCommand } from '../../../src/domain/wallet/decide.ts'
import { applyCharge, applyToWallet, type WalletFact } from '../../../src/domain/wallet/evolve.ts'
import {
  availablePicos,
  balancePicos,
  draftWallet,
  initialWallet,
  type Wallet,
} from '../../../src/domain/wallet/wallet.ts'

const credited = (amount: string, reference = 'invoice-1'): WalletFact => ({
  type: 'WalletCredited',
  data: { workspaceId: 'acme', amount, reference, note: '' },
})
const held = (holdId: string, amount: string): WalletFact => ({
  type: 'HoldPlaced',
  data: {
    holdId,
    workspaceId: 'acme',
    purpose: 'allowance',
    amount,
    deadline: '2026-11-21T12:00:00.000Z',
    owner: 'edge-1',
  },
})
const released = (holdId: string): WalletFact => ({
  type: 'HoldReleased',
  data: { holdId, workspaceId: 'acme', reason: 'returned' },
})

const asker = { keyId: 'key-1', day: '2026-11-21' }

const given = (...facts: readonly WalletFact[]): Wallet => {
  const wallet = initialWallet('acme')
  for (const fact of facts) applyToWallet(wallet, fact)
  return wallet
}

const figures = (wallet: Wallet) => ({
  balance: formatUsd(balancePicos(wallet)),
  held: formatUsd(wallet.heldPicos),
  available: formatUsd(availablePicos(wallet)),
})

const place = (minimum: string, desired: string, holdId = 'h9'): WalletCommand => ({
  type: 'PlaceAllowance',
  holdId,
  minimumPicos: parseUsd(minimum),
  desiredPicos: parseUsd(desired),
  holders: [],
  day: '2026-11-21',
  deadline: '2026-11-21T12:00:00.000Z',
  owner: 'edge-1',
})

const placedAmount = (wallet: Wallet, command: WalletCommand): string | 'refused' => {
  const decision = decideWallet(command, wallet)
  if ('refused' in decision) return 'refused'
  const [fact] = decision.facts
  return fact?.type === 'HoldPlaced' ? fact.data.amount : 'nothing'
}

t.test('credit, hold, charge, release', async (t) => {
  const wallet = given(credited('10'), held('h1', '4'))
  t.same(figures(wallet), { balance: '10', held: '4', available: '6' })
  applyCharge(wallet, 'r1', parseUsd('1.5'), parseUsd('2'), 'h1', asker)
  t.same(
    figures(wallet),
    { balance: '8.5', held: '2.5', available: '6' },
    'a charge within its allowance leaves available as it was',
  )
  applyToWallet(wallet, released('h1'))
  t.same(figures(wallet), { balance: '8.5', held: '0', available: '8.5' })
})

t.test('what goes beyond the reservation is a movement of its own', async (t) => {
  const wallet = given(credited('10'), held('h1', '4'))
  const movements = applyCharge(wallet, 'r1', parseUsd('5'), parseUsd('2'), 'h1', asker)
  t.same(
    movements.map(({ kind, amountPicos }) => [kind, formatUsd(amountPicos)]),
    [
      ['charge', '-2'],
      ['excess', '-3'],
    ],
  )
  t.same(figures(wallet), { balance: '5', held: '0', available: '5' })
})

t.test('a charge whose allowance has ended comes out of the balance alone', async (t) => {
  const wallet = given(credited('10'), held('h1', '4'), released('h1'))
  applyCharge(wallet, 'r1', parseUsd('1'), parseUsd('2'), 'h1', asker)
  t.same(figures(wallet), { balance: '9', held: '0', available: '9' })
})

t.test('repeats move nothing', async (t) => {
  const wallet = given(credited('10'), credited('10'), held('h1', '4'), held('h1', '4'), released('h1'), released('h1'))
  t.same(figures(wallet), { balance: '10', held: '0', available: '10' })
  t.same(applyToWallet(wallet, released('unknown')), [])
})

t.test(
  'an allowance is as large as desired, at most half of what is available, at least what one request needs',
  async (t) => {
    const wallet = given(credited('10'))
    t.equal(placedAmount(wallet, place('1', '3')), '3')
    t.equal(placedAmount(wallet, place('1', '9')), '5')
    t.equal(placedAmount(wallet, place('7', '9')), '7')
    t.equal(placedAmount(wallet, place('10', '10')), '10')
    t.equal(placedAmount(wallet, place('10.000000000001', '11')), 'refused')
    t.equal(placedAmount(given(), place('0', '1')), 'refused')
  },
)

t.test('a credit limit can be held too', async (t) => {
  const wallet = { ...given(credited('1')), creditLimitPicos: parseUsd('2') }
  t.equal(placedAmount(wallet, place('3', '3')), '3')
})

t.test('a repeated credit decides nothing, and the same reference with another amount is refused', async (t) => {
  const wallet = given(credited('10', 'invoice-7'))
  const credit = (amount: string): WalletCommand => ({
    type: 'Credit',
    amountPicos: parseUsd(amount),
    reference: 'invoice-7',
    note: '',
  })
  t.same(decideWallet(credit('10'), wallet), { facts: [] })
  t.match(decideWallet(credit('11'), wallet), { refused: { reason: 'reference_differs' } })
})

t.test('the end of a hold that is not open decides nothing', async (t) => {
  t.same(decideWallet({ type: 'ReleaseHold', holdId: 'h1', reason: 'expired' }, given()), { facts: [] })
})

type Step =
  | { readonly do: 'credit'; readonly amount: number; readonly reference: number }
  | { readonly do: 'place'; readonly hold: number; readonly minimum: number; readonly desired: number }
  | { readonly do: 'release'; readonly hold: number }
  | { readonly do: 'charge'; readonly hold: number; readonly share: number }

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('credit' as const),
    amount: fc.integer({ min: 1, max: 1_000 }),
    reference: fc.nat({ max: 5 }),
  }),
  fc.record({
    do: fc.constant('place' as const),
    hold: fc.nat({ max: 8 }),
    minimum: fc.nat({ max: 400 }),
    desired: fc.nat({ max: 900 }),
  }),
  fc.record({ do: fc.constant('release' as const), hold: fc.nat({ max: 8 }) }),
  fc.record({ do: fc.constant('charge' as const), hold: fc.nat({ max: 8 }), share: fc.nat({ max: 100 }) }),
)

const openHoldId = (wallet: Wallet, pick: number): string =>
  [...wallet.holds.keys()][pick % Math.max(1, wallet.holds.size)] ?? 'none'

const commandOf = (wallet: Wallet, step: Exclude<Step, { do: 'charge' }>, index: number): WalletCommand => {
  switch (step.do) {
    case 'credit':
      return { type: 'Credit', amountPicos: BigInt(step.amount), reference: `ref-${step.reference}`, note: '' }
    case 'place':
      return {
        ...place('0', '0', `h${step.hold}-${index}`),
        minimumPicos: BigInt(step.minimum),
        desiredPicos: BigInt(step.desired),
      } as WalletCommand
    case 'release':
      return { type: 'ReleaseHold', holdId: openHoldId(wallet, step.hold), reason: 'returned' }
  }
}

/** Charges a share of what remains of some open hold, as a request within its reservation does. */
const chargeSome = (wallet: Wallet, step: Step & { do: 'charge' }, index: number): void => {
  const holds = [...wallet.holds.values()]
  const hold = holds[step.hold % Math.max(1, holds.length)]
  if (hold === undefined) return
  const amountPicos = (hold.remainingPicos * BigInt(step.share)) / 100n
  applyCharge(wallet, `r${index}`, amountPicos, amountPicos, hold.holdId, asker)
}

t.test('random wallets never breach their rules', async () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 200 }), (sequence) => {
      const wallet = initialWallet('acme')
      for (const [index, step] of sequence.entries()) {
        if (step.do === 'charge') chargeSome(wallet, step, index)
        else {
          const decision = decideWallet(commandOf(wallet, step, index), wallet)
          if ('facts' in decision) for (const fact of decision.facts) applyToWallet(wallet, fact)
        }
        const heldTogether = [...wallet.holds.values()].reduce((sum, { remainingPicos }) => sum + remainingPicos, 0n)
        if (heldTogether !== wallet.heldPicos) return false
        if (availablePicos(wallet) < 0n || balancePicos(wallet) < 0n) return false
        if (
          [...wallet.holds.values()].some(
            ({ remainingPicos, amountPicos }) => remainingPicos < 0n || remainingPicos > amountPicos,
          )
        )
          return false
      }
      return true
    }),
  )
})

t.test('facts tried on a draft leave the wallet as it was', async (t) => {
  const wallet = given(credited('10'), held('h1', '4'))
  const draft = draftWallet(wallet)
  applyToWallet(draft, released('h1'))
  applyToWallet(draft, held('h2', '1'))
  t.equal(availablePicos(draft), parseUsd('9'))
  t.same(figures(wallet), { balance: '10', held: '4', available: '6' })
  t.equal(wallet.holds.get('h1')?.remainingPicos, parseUsd('4'))
})
