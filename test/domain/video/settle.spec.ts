import t from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import {
  chargeTask,
  decideSettlement,
  isUnits,
  lateVerdict,
  unitsPicosRoundingHalfUp,
  type VideoVerdict,
} from '../../../src/domain/video/settle.ts'
import { openTask, type Task } from '../../../src/domain/video/task.ts'
import { unitsDecimalsMax, unitsWholeDigitsMax } from '../../../src/domain/video/units.ts'
import { getValidator } from '../../../src/encoding/schema-validation.ts'
import { vendorLimits } from '../../../src/providers/vv-video/limits.ts'
import { randomOf } from '../../support/random.ts'
import { orderOf, placed } from './tasks.ts'

const succeeded: VideoVerdict & { readonly vendorTaskId: string } = {
  outcome: 'SUCCESS',
  vendorTaskId: 'v-1',
  deduction: '4.5',
  failReason: null,
  vendorCode: null,
  results: [{ id: 'r-1', url: 'https://example.com/r-1.mp4', duration: '5.1' }],
}
const failed: VideoVerdict & { readonly vendorTaskId: string } = {
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
3.0              3                0.42          reported
0.000000000001   0.000000000001   0             reported
0.000000000004   0.000000000004   0.000000000001 reported
0.8999999999999999  0.8999999999999999  0.126   reported
0.30000000000000004 0.30000000000000004 0.042   reported
0.1234567890123  0.1234567890123  0.017283950462 reported
00.5             0.5              0.07          reported
03               3                0.42          reported
+3               3                0.42          reported
.5               0.5              0.07          reported
3.               3                0.42          reported
4.500            4.5              0.63          reported
1e0              1                0.14          reported
1e2              100              14            reported
135              135              18.9          reported
135.000000001    45               6.3           estimated
1e3              45               6.3           estimated
1.5E-1           0.15             0.021         reported
2e+1             20               2.8           reported
0e999999999999   0                0             reported
0.000e-7         0                0             reported
-0.0             0                0             reported
100e-2           1                0.14          reported
0000000000000001 1                0.14          reported
45               45               6.3           reported
60               60               8.4           reported
999999999        45               6.3           estimated
-                45               6.3           estimated
4,5              45               6.3           estimated
-1               45               6.3           estimated
-1e-9            45               6.3           estimated
NaN              45               6.3           estimated
Infinity         45               6.3           estimated
abc              45               6.3           estimated
0x10             45               6.3           estimated
1_000            45               6.3           estimated
1e               45               6.3           estimated
e3               45               6.3           estimated
.                45               6.3           estimated
1.2.3            45               6.3           estimated
--1              45               6.3           estimated
٣                45               6.3           estimated
1000000000       45               6.3           estimated
1e9              45               6.3           estimated
1e999999999999   45               6.3           estimated
1e-999999999999  45               6.3           estimated
`

t.test('the deduction, to the last decimal', async (t) => {
  for (const line of table.trim().split('\n')) {
    const [deduction = '', quantity, amount, source] = line.split(/\s+/)
    const verdict = { ...succeeded, deduction: deduction === '-' ? null : deduction }
    const { data } = decideSettlement(task(), verdict)
    t.same(data.lines, [{ item: 'video', quantity, unitPrice: '0.14', amount }], line)
    t.same([data.total, data.source], [amount, source], line)
  }
})

t.test('blanks around a number are none of it, and alone are no number', async (t) => {
  for (const text of ['', ' ', '\n', '3 units', '3 3', '- 3', 'null', '…'])
    t.equal(isUnits(text), false, JSON.stringify(text))
  for (const text of ['3 ', ' 3', '\t3\r\n'])
    t.same(chargeTask(task(), { ...succeeded, deduction: text }).lines[0]?.quantity, '3', JSON.stringify(text))
})

const problemsOf = {
  TaskSettled: getValidator('events/TaskSettled.v1.json', { allErrors: true }),
  LateVerdictSeen: getValidator('events/LateVerdictSeen.v1.json', { allErrors: true }),
}

t.test('the bounds of a number, which its schema has too', async (t) => {
  const longest = `${'9'.repeat(unitsWholeDigitsMax)}.${'9'.repeat(unitsDecimalsMax)}`
  const padded = `${'0'.repeat(vendorLimits.videoDeductionCharactersMax - longest.length)}${longest}`
  for (const deduction of [longest, padded]) {
    const large = task(orderOf({ unitPrice: '0.14', unitsMax: '999999999' }))
    const { data } = decideSettlement(large, { ...succeeded, deduction })
    t.match(data, { deduction, source: 'reported', lines: [{ quantity: longest }], total: '140000000' })
    t.same(problemsOf.TaskSettled(data), [])
    t.same(problemsOf.LateVerdictSeen(lateVerdict(task(), { ...succeeded, deduction }).data), [])
  }
  for (const text of [`${longest}9`, `9${longest}`, `1e-${unitsDecimalsMax + 1}`]) t.equal(isUnits(text), false, text)
  t.equal(isUnits(`1e-${unitsDecimalsMax}`), true)
})

t.test('a deduction above three times what was held charges what was held, and is marked', async (t) => {
  for (const [deduction, total, plausible] of [
    ['135', '18.9', undefined],
    ['135.000001', '6.3', false],
    ['999999999', '6.3', false],
    ['not a number', '6.3', undefined],
  ] as const) {
    const { data } = decideSettlement(task(), { ...succeeded, deduction })
    t.same([data.deduction, data.total, data.plausible], [deduction, total, plausible], deduction)
    t.equal(data.source, total === '6.3' ? 'estimated' : 'reported')
    t.same(problemsOf.TaskSettled(data), [])
  }
  const { data } = decideSettlement(task(), { ...failed, deduction: '999999999' })
  t.same([data.total, data.plausible], ['0', undefined], 'a failure costs nothing')
})

const zeros = (random: () => number): string => '0'.repeat(Math.floor(random() * 4))

/** `digits` × 10^-`decimals`, in one of its spellings. */
const spelled = (digits: bigint, decimals: number, random: () => number): string => {
  const shift = random() < 0.5 ? 0 : Math.floor(random() * 20) - 10
  const places = Math.max(0, decimals + shift)
  const text = digits.toString().padStart(places + 1, '0')
  const whole = text.slice(0, text.length - places)
  const fraction = text.slice(text.length - places) + zeros(random)
  const point = fraction === '' && random() < 0.5 ? '' : '.'
  const exponent = places - decimals
  const mark = random() < 0.5 ? 'e' : 'E'
  const power =
    exponent === 0 && random() < 0.5 ? '' : `${mark}${exponent >= 0 && random() < 0.5 ? '+' : ''}${exponent}`
  const blank = random() < 0.2 ? ' ' : ''
  return `${blank}${zeros(random)}${whole}${point}${fraction}${power}${blank}`
}

t.test('every spelling of a decimal costs what exact arithmetic says, rounded half up once', async (t) => {
  const random = randomOf(20_261_121)
  for (let round = 0; round < 20_000; round += 1) {
    const decimals = Math.floor(random() * 41)
    const digits = BigInt(Math.floor(random() * 2 ** 52)) % 10n ** BigInt(Math.min(16, decimals + 8))
    const price = BigInt(Math.floor(random() * 1e15)) / 10n ** BigInt(Math.floor(random() * 15))
    const deduction = spelled(digits, decimals, random)
    const charge = chargeTask(task(orderOf({ unitPrice: formatUsd(price), unitsMax: '999999999' })), {
      ...succeeded,
      deduction,
    })
    const [whole, rest] = [(digits * price) / 10n ** BigInt(decimals), (digits * price) % 10n ** BigInt(decimals)]
    const expected = rest * 2n >= 10n ** BigInt(decimals) ? whole + 1n : whole
    const [line] = charge.lines
    const [units = '', fraction = ''] = String(line?.quantity).split('.')
    const isExact = BigInt(units + fraction.padEnd(64, '0')) === digits * 10n ** BigInt(64 - decimals)
    const isRight = charge.source === 'reported' && charge.totalPicos === expected && isExact
    if (isRight && /^(0|[1-9]\d*)(\.\d*[1-9])?$/.test(String(line?.quantity))) continue
    return t.fail(`${deduction} at ${formatUsd(price)}`, { charge, expected })
  }
  t.pass()
})

t.test('what lies below a pico-dollar is rounded half up', async (t) => {
  t.equal(unitsPicosRoundingHalfUp('0.000000000001', '0.5'), 1n)
  t.equal(unitsPicosRoundingHalfUp('0.000000000001', '0.499999999999'), 0n)
  t.equal(unitsPicosRoundingHalfUp('0.3', '0.000000000005'), 2n)
  t.equal(unitsPicosRoundingHalfUp('3', '0.000000000001'), 3n)
  t.equal(unitsPicosRoundingHalfUp('0', '0.14'), 0n)
  t.throws(() => unitsPicosRoundingHalfUp('-1', '0.14'), RangeError)
})

t.test('a failure costs nothing, whatever the vendor deducted', async (t) => {
  for (const deduction of [null, '4.5', 'x'])
    t.same(chargeTask(task(), { ...failed, deduction }), { source: 'reported', lines: [], totalPicos: 0n })
})

t.test('the price is that of the hold', async (t) => {
  const cheap = task(orderOf({ unitPrice: '0.1', unitsMax: '10', priceVersion: 'old' }))
  t.match(decideSettlement(cheap, succeeded).data, {
    priceVersion: 'old',
    total: '0.45',
    lines: [{ unitPrice: '0.1' }],
  })
})

t.test('the end of a task', async (t) => {
  const settled = decideSettlement(task(), succeeded)
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
  const refused = decideSettlement(task(), { ...failed, vendorTaskId: null })
  t.match(refused.data, { outcome: 'FAILURE', failReason: 'no cats', vendorCode: 1301, lines: [], total: '0' })
  t.notOk('vendorTaskId' in refused.data)
  const unread = decideSettlement(task(), { ...succeeded, deduction: '4,5' })
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
