import t from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import {
  chargeTask,
  isUnits,
  lateVerdict,
  settle,
  unitsPicosRoundingHalfUp,
  type Verdict,
} from '../../../src/domain/video/settle.ts'
import { openTask, type Task } from '../../../src/domain/video/task.ts'
import { validatorOf } from '../../../src/schema-validation.ts'
import { orderOf, placed } from './tasks.ts'

const succeeded: Verdict & { readonly vendorTaskId: string } = {
  outcome: 'SUCCESS',
  vendorTaskId: 'v-1',
  deduction: '4.5',
  failReason: null,
  vendorCode: null,
  results: [{ id: 'r-1', url: 'https://example.com/r-1.mp4', duration: '5.1' }],
}
const failed: Verdict & { readonly vendorTaskId: string } = {
  ...succeeded,
  outcome: 'FAILURE',
  deduction: null,
  failReason: 'no cats',
  vendorCode: 1301,
  results: [],
}

/** A hold of 45 units at 0.14. */
const task = (order = orderOf({ unitPrice: '0.14', unitsMax: '45' })): Task => openTask(placed('task_1', '6.3', order))!

// deduction as the vendor wrote it (`-` for none), units charged, total, whose figure: worked by hand at 0.14 a unit.
const table = `
4.5              4.5              0.63          reported
3                3                0.42          reported
0                0                0             reported
0.6              0.6              0.084         reported
3.0              3.0              0.42          reported
0.000000000001   0.000000000001   0             reported
0.000000000004   0.000000000004   0.000000000001 reported
45               45               6.3           reported
60               60               8.4           reported
999999999        999999999        139999999.86  reported
-                45               6.3           estimated
4,5              45               6.3           estimated
-1               45               6.3           estimated
+3               45               6.3           estimated
1e3              45               6.3           estimated
.5               45               6.3           estimated
3.               45               6.3           estimated
03               45               6.3           estimated
NaN              45               6.3           estimated
1000000000       45               6.3           estimated
0.1234567890123  45               6.3           estimated
`

t.test('the deduction, to the last decimal', async (t) => {
  for (const line of table.trim().split('\n')) {
    const [deduction = '', quantity, amount, source] = line.split(/\s+/)
    const verdict = { ...succeeded, deduction: deduction === '-' ? null : deduction }
    const charge = chargeTask(task(), verdict)
    t.same(charge.lines, [{ item: 'video', quantity, unitPrice: '0.14', amount }], line)
    t.same([formatUsd(charge.totalPicos), charge.source], [amount, source], line)
  }
})

t.test('blanks and line ends are no units', async (t) => {
  for (const text of ['', ' ', '3 ', ' 3', '3\n', '3 units', 'null'])
    t.equal(isUnits(text), false, JSON.stringify(text))
})

t.test('what lies below a pico-dollar is rounded half up', async (t) => {
  t.equal(unitsPicosRoundingHalfUp('0.000000000001', '0.5'), 1n)
  t.equal(unitsPicosRoundingHalfUp('0.000000000001', '0.499999999999'), 0n)
  t.equal(unitsPicosRoundingHalfUp('0.3', '0.000000000005'), 2n)
  t.equal(unitsPicosRoundingHalfUp('3', '0.000000000001'), 3n)
  t.equal(unitsPicosRoundingHalfUp('0', '0.14'), 0n)
})

t.test('a failure costs nothing, whatever the vendor deducted', async (t) => {
  for (const deduction of [null, '4.5', 'x'])
    t.same(chargeTask(task(), { ...failed, deduction }), { source: 'reported', lines: [], totalPicos: 0n })
})

t.test('the price is that of the hold', async (t) => {
  const cheap = task(orderOf({ unitPrice: '0.1', unitsMax: '10', priceVersion: 'old' }))
  t.match(settle(cheap, succeeded).data, { priceVersion: 'old', total: '0.45', lines: [{ unitPrice: '0.1' }] })
})

const problemsOf = {
  TaskSettled: validatorOf('events/TaskSettled.v1.json', { every: true }),
  LateVerdictSeen: validatorOf('events/LateVerdictSeen.v1.json', { every: true }),
}

t.test('the end of a task', async (t) => {
  const settled = settle(task(), succeeded)
  t.same(settled, {
    type: 'TaskSettled',
    data: {
      taskId: 'task_1',
      workspaceId: 'acme',
      outcome: 'SUCCESS',
      vendorTaskId: 'v-1',
      deduction: '4.5',
      source: 'reported',
      priceVersion: 'v1',
      lines: [{ item: 'video', quantity: '4.5', unitPrice: '0.14', amount: '0.63' }],
      total: '0.63',
      held: '6.3',
      results: succeeded.results,
    },
  })
  const refused = settle(task(), { ...failed, vendorTaskId: null })
  t.match(refused.data, { outcome: 'FAILURE', failReason: 'no cats', vendorCode: 1301, lines: [], total: '0' })
  t.notOk('vendorTaskId' in refused.data)
  const unread = settle(task(), { ...succeeded, deduction: '4,5' })
  t.match(unread.data, { deduction: '4,5', source: 'estimated', total: '6.3' }, 'what was told stays visible')
  for (const { data } of [settled, refused, unread]) t.same(problemsOf.TaskSettled(data), [])
})

t.test('a word that comes too late tells what it would have cost', async (t) => {
  const late = lateVerdict(task(), succeeded)
  t.same(late.data, {
    taskId: 'task_1',
    workspaceId: 'acme',
    vendorTaskId: 'v-1',
    outcome: 'SUCCESS',
    deduction: '4.5',
    cost: '0.63',
  })
  const failure = lateVerdict(task(), failed)
  t.match(failure.data, { outcome: 'FAILURE', cost: '0', failReason: 'no cats' })
  t.match(lateVerdict(task(), { ...succeeded, deduction: null }).data, { cost: '6.3' })
  for (const { data } of [late, failure]) t.same(problemsOf.LateVerdictSeen(data), [])
})
