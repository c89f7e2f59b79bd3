import t from 'tap'
import { requireTables } from '../../../src/cli/platform.ts'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { checkCharges } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { startTestGateway } from '../../support/gateway.ts'
import {
  eventsOf,
  newVideo,
  openKnownAccount,
  plainUsd,
  pollVideo,
  statementOf,
  videoOptions,
  walletFigures,
} from '../../support/video.ts'

interface Case {
  readonly what: string
  readonly directives: string
  readonly total: string
  readonly source: 'reported' | 'estimated'
  /** As a line of its own in the statement. */
  readonly excess?: string
  readonly status?: 'FAILURE'
}

const estimated = { total: plainUsd, source: 'estimated' } as const
const nothing = { total: '0', source: 'reported', status: 'FAILURE' } as const

/** Each holds 3 units at 0.14 USD. */
const cases: readonly Case[] = [
  { what: 'exact', directives: '', total: '0.42', source: 'reported' },
  { what: 'half a unit', directives: '[[deduction=1.5]]', total: '0.21', source: 'reported' },
  { what: 'as a number', directives: '[[deduction_number=2.25]]', total: '0.315', source: 'reported' },
  { what: 'nothing', directives: '[[deduction=0]]', total: '0', source: 'reported' },
  {
    what: 'below a pico-dollar, rounded once',
    directives: '[[deduction=2.123456789012]]',
    total: '0.297283950462',
    source: 'reported',
  },
  { what: 'with an exponent', directives: '[[deduction=15e-1]]', total: '0.21', source: 'reported' },
  { what: 'a number with an exponent', directives: '[[deduction_number=1e0]]', total: '0.14', source: 'reported' },
  {
    what: 'a sum of floats',
    directives: '[[deduction_number=0.30000000000000004]]',
    total: '0.042',
    source: 'reported',
  },
  { what: 'as text', directives: '[[deduction=0.8999999999999999]]', total: '0.126', source: 'reported' },
  { what: 'with leading zeros', directives: '[[deduction=00.5]]', total: '0.07', source: 'reported' },
  { what: 'missing', directives: '[[no_deduction]]', ...estimated },
  { what: 'with a comma', directives: '[[deduction=4,5]]', ...estimated },
  { what: 'negative', directives: '[[deduction=-1]]', ...estimated },
  { what: 'absurdly much', directives: '[[deduction=1e9]]', ...estimated },
  { what: 'no number', directives: '[[deduction=lots]]', ...estimated },
  {
    what: 'above the hold',
    directives: '[[deduction=9]]',
    total: '1.26',
    source: 'reported',
    excess: '0.84',
  },
  { what: 'far above the hold', directives: '[[deduction=9.01]]', ...estimated },
  { what: 'far above every hold', directives: '[[deduction=999999999]]', ...estimated },
  { what: 'failed', directives: '[[failed]]', ...nothing },
  { what: 'failed, with a deduction', directives: '[[failed;deduction=3]]', ...nothing },
  { what: 'refused', directives: '[[code=1301;message=Unsafe.]]', ...nothing },
]

const creditUsd = '20'

t.test('what the vendor deducts is charged to the pico-dollar, and the rest goes back', async (t) => {
  const running = await startTestGateway(t, videoOptions())
  const { gateway, operator } = running
  const secret = await openKnownAccount(operator, [gateway.url], 'films', creditUsd)
  const taskIds = await Promise.all(
    cases.map(({ directives }) =>
      newVideo(gateway.url, secret, { prompt: `A cat. [[queue_ms=0;run_ms=0]]${directives}` }),
    ),
  )
  await until(async () => (await walletFigures(operator, 'films')).held === '0')
  const spentPicos = cases.reduce((sum, { total }) => sum + parseUsd(total), 0n)
  const balance = formatUsd(parseUsd(creditUsd) - spentPicos)
  t.same(await walletFigures(operator, 'films'), { balance, held: '0', available: balance })

  const { database } = requireTables(operator.platform)
  await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
  const statement = await statementOf(operator, 'films')
  const settled = await eventsOf(operator, 'TaskSettled')
  for (const [index, { what, total, source, excess = '0', status = 'SUCCESS' }] of cases.entries()) {
    const taskId = taskIds[index]!
    t.match(
      settled.find((each) => each.taskId === taskId),
      { total, source, held: plainUsd },
      what,
    )
    const movements = statement.filter(({ reference }) => reference === taskId)
    const sumOf = (kind: string): string =>
      formatUsd(movements.reduce((sum, each) => (each.kind === kind ? sum - each.amountPicos : sum), 0n))
    const covered = formatUsd(parseUsd(total) - parseUsd(excess))
    t.same({ charge: sumOf('charge'), excess: sumOf('excess') }, { charge: covered, excess }, what)
    const { body } = await pollVideo(gateway.url, secret, taskId)
    t.match(body.data, { status, progress: '100%' }, what)
    if (status === 'SUCCESS') t.match(body.data.usage, { unit_price: '0.14', cost: total, source }, what)
    else t.ok(body.data.fail_reason, what)
  }
  await checkCharges(t, running)
})
