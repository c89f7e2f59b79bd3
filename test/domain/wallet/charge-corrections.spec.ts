import t from 'tap'
import { type ChargeAdjustment, foldCorrections } from '../../../src/domain/wallet/charge-corrections.ts'

const charge = { chargeId: 'task-1', totalPicos: 100n }

const correction = (adjustmentId: string, amountPicos: bigint, corrects = 'task-1'): ChargeAdjustment => ({
  ...{ adjustmentId, amountPicos, corrects },
  reason: 'correction',
})

t.test('an estimate is confirmed until that is reversed', async (t) => {
  const isNamed = (...adjustments: readonly ChargeAdjustment[]) => foldCorrections(charge, adjustments).isNamed
  const confirmed = correction('confirmed:task-1', -40n)
  t.notOk(isNamed())
  t.ok(isNamed(confirmed))
  t.ok(isNamed(correction('confirmed:task-1', 0n)), 'as what it was')
  t.ok(isNamed(confirmed, correction('operator:1', 15n, 'confirmed:task-1')), 'in part')
  t.notOk(isNamed(confirmed, correction('operator:1', 40n, 'confirmed:task-1')))
  t.ok(isNamed(confirmed, correction('operator:1', 40n, 'confirmed:task-1'), correction('operator:2', -10n)))
  t.notOk(isNamed({ ...confirmed, reason: 'goodwill' }))
})
