import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { decideWallet, type WalletCommand } from '../../../src/domain/wallet/decide.ts'
import { applyHoldSettlement, applyToWallet, type WalletFact } from '../../../src/domain/wallet/evolve.ts'
import {
  availablePicos,
  balancePicos,
  draftWallet,
  initialWallet,
  type Wallet,
} from '../../../src/domain/wallet/wallet.ts'
import type { TaskOrder } from '../../../src/events/types.ts'
import { holdOf, orderOf } from '../video/tasks.ts'

const credited = (amount: string): WalletFact => ({
  type: 'WalletCredited',
  data: { workspaceId: 'acme', amount, reference: 'invoice-1', note: '' },
})
const released = (holdId: string): WalletFact => ({
  type: 'HoldReleased',
  data: { holdId, workspaceId: 'acme', reason: 'expired' },
})

const given = (...facts: readonly WalletFact[]): Wallet => {
  const wallet = initialWallet('acme')
  for (const fact of facts) applyToWallet(wallet, fact)
  return wallet
}

const place = (taskId: string, amount: string, order: TaskOrder = orderOf()): WalletCommand => ({
  type: 'PlaceTaskHold',
  taskId,
  amountPicos: parseUsd(amount),
  day: '2026-11-21',
  deadline: '2026-11-22T10:00:00.000Z',
  owner: 'edge-1',
  order,
})

const figures = (wallet: Wallet) => ({
  balance: formatUsd(balancePicos(wallet)),
  held: formatUsd(wallet.heldPicos),
  available: formatUsd(availablePicos(wallet)),
})

t.test('a task is held whole, with its order', async (t) => {
  t.same(decideWallet(place('task_1', '6.3'), given(credited('10'))), { facts: [holdOf('task_1', '6.3')] })
})

t.test('what is available covers it to the pico-dollar, or it is refused', async (t) => {
  const rows: readonly (readonly [wallet: Wallet, amount: string, available: string | null])[] = [
    [given(credited('6.3')), '6.3', null],
    [given(credited('6.3')), '6.300000000001', '6.3'],
    [given(), '0.000000000001', '0'],
    [given(credited('10'), holdOf('task_1', '6.3')), '3.7', null],
    [given(credited('10'), holdOf('task_1', '6.3')), '3.700000000001', '3.7'],
    [given(credited('10'), holdOf('task_1', '6.3'), released('task_1')), '10', null],
    [{ ...given(credited('1')), creditLimitPicos: parseUsd('2') }, '3', null],
    [{ ...given(credited('1')), creditLimitPicos: parseUsd('2') }, '3.1', '3'],
    [{ ...given(credited('1')), chargesPicos: parseUsd('5') }, '0.1', '-4'],
  ]
  for (const [wallet, amount, available] of rows) {
    const expected =
      available === null
        ? { facts: [holdOf('task_9', amount)] }
        : { refused: { reason: 'insufficient', availablePicos: parseUsd(available) } }
    t.same(decideWallet(place('task_9', amount), wallet), expected, amount)
  }
})

t.test('the same command again decides nothing', async (t) => {
  const wallet = given(credited('10'), holdOf('task_1', '6.3'))
  t.same(decideWallet(place('task_1', '6.3'), wallet), { facts: [] })
})

const mine = orderOf({ externalTaskId: 'mine', requestDigest: 'c'.repeat(64) })

t.test('a caller’s own id names one task', async (t) => {
  const wallet = given(credited('10'), holdOf('task_1', '6.3', mine))
  t.same(decideWallet(place('task_2', '6.3', mine), wallet), { facts: [] }, 'the same request, though no money is left')
  const other = { ...mine, requestDigest: 'd'.repeat(64) }
  const differs = { refused: { reason: 'external_task_differs', taskId: 'task_1' } }
  t.same(decideWallet(place('task_2', '0.1', other), wallet), differs)
  t.match(decideWallet(place('task_2', '0.1', { ...other, externalTaskId: 'yours' }), wallet), {
    facts: [{ type: 'HoldPlaced' }],
  })
  t.same(wallet.externalTasks.get('mine'), { taskId: 'task_1', requestDigest: mine.requestDigest })
})

t.test('it names that task after its end too', async (t) => {
  const expired = given(credited('10'), holdOf('task_1', '6.3', mine), released('task_1'))
  t.same(decideWallet(place('task_2', '6.3', mine), expired), { facts: [] })
  const settled = given(credited('10'), holdOf('task_1', '6.3', mine))
  applyHoldSettlement(settled, 'task_1', parseUsd('1'))
  t.same(decideWallet(place('task_2', '6.3', mine), settled), { facts: [] })
})

t.test('an id on a draft stays on the draft', async (t) => {
  const wallet = given(credited('10'))
  const draft = draftWallet(wallet)
  applyToWallet(draft, holdOf('task_1', '6.3', mine))
  t.same(decideWallet(place('task_2', '6.3', mine), draft), { facts: [] })
  t.match(decideWallet(place('task_2', '6.3', mine), wallet), { facts: [{ type: 'HoldPlaced' }] })
})

// What the vendor took from a hold of 6.3, of 10 in the wallet; the movements, and how the wallet stands.
type Moved = readonly [kind: string, amount: string, held: string]
const settlements: readonly (readonly [total: string, moved: readonly Moved[], balance: string])[] = [
  ['0', [['release', '0', '-6.3']], '10'],
  [
    '0.63',
    [
      ['charge', '-0.63', '-0.63'],
      ['release', '0', '-5.67'],
    ],
    '9.37',
  ],
  [
    '6.3',
    [
      ['charge', '-6.3', '-6.3'],
      ['release', '0', '0'],
    ],
    '3.7',
  ],
  [
    '8.4',
    [
      ['charge', '-6.3', '-6.3'],
      ['excess', '-2.1', '0'],
      ['release', '0', '0'],
    ],
    '1.6',
  ],
  [
    '20',
    [
      ['charge', '-6.3', '-6.3'],
      ['excess', '-13.7', '0'],
      ['release', '0', '0'],
    ],
    '-10',
  ],
]

t.test('a settlement charges, ends the hold and gives the rest back', async (t) => {
  for (const [total, moved, balance] of settlements) {
    const wallet = given(credited('10'), holdOf('task_1', '6.3'))
    const movements = applyHoldSettlement(wallet, 'task_1', parseUsd(total))
    t.same(
      movements.map(({ kind, amountPicos, heldPicos }) => [kind, formatUsd(amountPicos), formatUsd(heldPicos)]),
      moved,
      total,
    )
    t.match(movements.at(-1), { reference: 'task_1', balanceAfterPicos: parseUsd(balance), heldAfterPicos: 0n })
    t.same(figures(wallet), { balance, held: '0', available: balance }, total)
    t.equal(wallet.holds.size, 0)
  }
})

t.test('after its end a hold moves nothing', async (t) => {
  const settled = given(credited('10'), holdOf('task_1', '6.3'))
  applyHoldSettlement(settled, 'task_1', parseUsd('1'))
  t.same(applyHoldSettlement(settled, 'task_1', parseUsd('1')), [])
  t.same(applyToWallet(settled, released('task_1')), [])
  t.same(figures(settled), { balance: '9', held: '0', available: '9' })

  const expired = given(credited('10'), holdOf('task_1', '6.3'), released('task_1'))
  t.same(applyHoldSettlement(expired, 'task_1', parseUsd('1')), [])
  t.same(figures(expired), { balance: '10', held: '0', available: '10' })
})

t.test('a settlement leaves other holds alone', async (t) => {
  const wallet = given(credited('10'), holdOf('task_1', '3'), holdOf('task_2', '4'))
  applyHoldSettlement(wallet, 'task_1', parseUsd('5'))
  t.same(figures(wallet), { balance: '5', held: '4', available: '1' })
  t.equal(wallet.holds.get('task_2')?.remainingPicos, parseUsd('4'))
})
