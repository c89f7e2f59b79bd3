import t from 'tap'
import { PostgresReconcileRepository } from '../../src/adapters/postgres/reconcile-repository.ts'
import { CorrectionPoster } from '../../src/cli/post-corrections.ts'
import { initialLedger } from '../../src/domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { unitsPicosRoundingHalfUp } from '../../src/domain/video/settle.ts'
import type { Attempt } from '../../src/events/types.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import { compareSubject } from '../../src/reconcile/compare-subject.ts'
import { type Correction, toAdjustment } from '../../src/reconcile/correction.ts'
import { type DifferenceClass, differenceClasses } from '../../src/reconcile/decompose.ts'
import type { ReconcileFinding } from '../../src/reconcile/finding.ts'
import { createDayFormatter } from '../../src/reconcile/invoices/days.ts'
import { Invoice, type InvoiceFile } from '../../src/reconcile/invoices/invoice.ts'
import { unitParts } from '../../src/reconcile/invoices/row.ts'
import { createModelNames } from '../../src/reconcile/models.ts'
import { PeriodUnknown, type Reconciliation, reconcileInvoice } from '../../src/reconcile/reconcile.ts'
import type { LedgerSubject } from '../../src/reconcile/repository.ts'
import {
  adjusted,
  credited,
  opened,
  routed,
  taskPlaced,
  taskSettled,
  taskSubmitted,
  used,
} from '../roles/projector/facts.ts'
import { openProjected, project } from '../roles/projector/projecting.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'
import { randomOf } from '../support/random.ts'
import { type Fault, type Style, styles, TestInvoice } from './invoices.ts'
import {
  type Charged,
  days,
  filmsOf,
  makeLedger,
  type ProviderTruth,
  pricesOf,
  unitPrice,
  workspaces,
} from './ledger.ts'
import { written } from './written.ts'

const seeds = Number(process.env['RECONCILE_SEEDS'] ?? 25)
const firstSeed = Number(process.env['RECONCILE_SEED'] ?? 1)

const providers = ['alpha', 'beta', 'gamma']
const ledger = makeLedger(providers, randomOf(7))
const prices = pricesOf(providers)
const postgres = await startPostgres(t)
const projected = await openProjected(t, postgres)
await project(ledger.log, projected.store, 5_000)

/** The text in pieces that end anywhere. */
const fileOf = (name: string, text: string, random: () => number): InvoiceFile => ({
  name,
  async *open() {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + Math.floor(random() * bytes.length)
      yield bytes.subarray(at, at + size)
      at += size
    }
  },
})

interface Compared extends Reconciliation {
  readonly findings: readonly ReconcileFinding[]
  readonly corrections: readonly Correction[]
}

interface Wanted {
  readonly from: string | null
  readonly to: string | null
  readonly timezone: string
}

const allDays: Wanted = { from: days[0], to: days[3], timezone: 'UTC' }

const compare = (
  provider: string,
  { format }: Pick<Style, 'format'>,
  texts: string | readonly string[],
  random: () => number,
  wanted = allDays,
  { place } = projected,
): Promise<Compared> =>
  PostgresReconcileRepository.run(place, provider, async (books) => {
    const findings: ReconcileFinding[] = []
    const corrections: Correction[] = []
    const result = await reconcileInvoice({
      invoice: new Invoice(
        [texts].flat().map((text) => fileOf('invoice', text, random)),
        format,
        { provider, dayOf: createDayFormatter(wanted.timezone), roundingPicos: null },
      ),
      repository: books,
      names: createModelNames({ provider, catalog: { providers: new Map() }, prices }),
      unitPrice: { picos: parseUsd(unitPrice), per: unitParts },
      ...wanted,
      noteOf: () => '',
      onFinding: (finding) => findings.push(finding),
      onCorrection: (correction) => void corrections.push(correction),
    })
    if ('faults' in result) throw new Error(JSON.stringify(result.faults))
    return { ...result, findings, corrections }
  })

const placeOf = ({ id, day, model }: ReconcileFinding): string => id ?? `${day} ${model}`

const summed = (list: readonly { readonly class: string; readonly place: string; readonly amountPicos: bigint }[]) => {
  const sums = new Map<string, bigint>()
  for (const { class: name, place, amountPicos } of list) {
    const key = `${name} ${place}`
    sums.set(key, (sums.get(key) ?? 0n) + amountPicos)
  }
  return Object.fromEntries([...sums].sort(([one], [other]) => (one < other ? -1 : 1)))
}

const foundIn = ({ findings }: Compared) => summed(findings.map((finding) => ({ ...finding, place: placeOf(finding) })))

const correctedClasses: readonly DifferenceClass[] = ['token_drift', 'price_drift', 'estimated']

const expectedCorrections = (faults: readonly Fault[], { subject }: Style) =>
  summed(
    faults
      .filter((fault) => subject !== 'day' && correctedClasses.includes(fault.class))
      .map(({ place, amountPicos }) => ({ class: 'correction', place, amountPicos })),
  )

const correctionsIn = ({ corrections }: Compared) =>
  summed(
    corrections.map(({ corrects, debitPicos }) => ({ class: 'correction', place: corrects, amountPicos: debitPicos })),
  )

const sellerOf = ({ subject }: Style, { provider }: ProviderTruth): string =>
  subject === 'task' ? filmsOf(provider) : provider

const truthOf = (random: () => number): ProviderTruth => ledger.truths[Math.floor(random() * ledger.truths.length)]!

t.test('an invoice that says what the ledger says has no difference', async (t) => {
  for (const truth of ledger.truths)
    for (const style of styles) {
      const random = randomOf(1)
      const invoice = new TestInvoice(style, truth, random)
      const seller = sellerOf(style, truth)
      const compared = await compare(seller, style, written(style, seller, invoice.rows), random)
      t.same(foundIn(compared), {}, `${truth.provider}, ${JSON.stringify(style)}`)
      t.equal(compared.totals.invoicedPicos, compared.totals.ledgerPicos)
      t.not(compared.totals.ledgerPicos, 0n)
    }
})

t.test(
  `of ${seeds} invoices every fault is found in its class, none is invented, and the classes add up`,
  async (t) => {
    const found = new Map<string, number>()
    for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
      const random = randomOf(seed)
      const truth = truthOf(random)
      const style = styles[seed % styles.length]!
      const invoice = new TestInvoice(style, truth, random)
      for (const name of differenceClasses)
        for (let each = 0; each < Math.floor(random() * 3); each += 1) invoice.inject(name)
      const seller = sellerOf(style, truth)
      const compared = await compare(seller, style, written(style, seller, invoice.rows), random)
      const expected = summed(invoice.faults)
      const difference = invoice.faults.reduce((sum, { amountPicos }) => sum + amountPicos, 0n)
      const { invoicedPicos, ledgerPicos } = compared.totals
      const isRight =
        t.same(foundIn(compared), expected, `seed ${seed}, ${style.format} of ${truth.provider}`) &&
        t.equal(invoicedPicos - ledgerPicos, difference, 'the differences are the whole difference') &&
        t.same(correctionsIn(compared), expectedCorrections(invoice.faults, style))
      if (!isRight) t.comment(JSON.stringify(style))
      for (const { class: name } of invoice.faults) found.set(name, (found.get(name) ?? 0) + 1)
    }
    t.comment(Object.fromEntries(found))
    for (const name of differenceClasses.filter((each) => each !== 'unexplained'))
      t.ok((found.get(name) ?? 0) > seeds / 20, `${name}: ${found.get(name)} faults`)
  },
)

/** Sums of a provider's charges by day, as a zone has it, and model: in the plain CSV. */
const dailyCsv = (charged: readonly Charged[], timezone: string): string => {
  const dayOf = createDayFormatter(timezone)
  const sums = new Map<string, bigint>()
  for (const { atMs, model, totalPicos } of charged) {
    const name = `${dayOf(atMs)},${model}`
    sums.set(name, (sums.get(name) ?? 0n) + totalPicos)
  }
  return ['day,model,amount', ...Array.from(sums, ([name, picos]) => `${name},${exactly(picos)}`)].join('\n')
}

/** All twelve decimals. */
const exactly = (picos: bigint): string => {
  const [whole = '0', fraction = ''] = formatUsd(picos).split('.')
  return `${whole}.${fraction.padEnd(12, '0')}`
}

t.test('days are cut as the invoice cuts them', async (t) => {
  const [{ provider, charged }] = ledger.truths as [ProviderTruth]
  const inner = { from: days[1], to: days[2] }
  for (const timezone of ['Asia/Shanghai', 'America/Los_Angeles', 'UTC']) {
    const compared = await compare(provider, { format: 'csv' }, dailyCsv(charged, timezone), Math.random, {
      ...inner,
      timezone,
    })
    t.same(foundIn(compared), {}, timezone)
    t.ok(compared.skippedRows > 0, 'rows of other days are left out')
  }
  const misread = { ...inner, timezone: 'UTC' }
  const wrong = await compare(provider, { format: 'csv' }, dailyCsv(charged, 'Asia/Shanghai'), Math.random, misread)
  t.not(Object.keys(foundIn(wrong)).length, 0)
})

t.test('a zone whose name is taken means the same to the tables', async (t) => {
  await PostgresReconcileRepository.run(projected.place, 'alpha', async (books) => {
    t.ok(await books.hasTimeZone('UTC'))
    t.ok(await books.hasTimeZone('asia/shanghai'))
    t.notOk(await books.hasTimeZone('Mars/Olympus'))
    for (const name of ['+08:00', 'Asia/Olympus+8']) t.notOk(await books.hasTimeZone(name), name)
  })
})

t.test('the days of the invoice are those compared, unless others are asked for', async (t) => {
  const [{ provider, charged }] = ledger.truths as [ProviderTruth]
  const none = { from: null, to: null, timezone: 'UTC' }
  const lines = dailyCsv(
    charged.filter(({ day }) => day === days[1]),
    'UTC',
  )
  t.match(await compare(provider, { format: 'csv' }, lines, Math.random, none), {
    period: { from: days[1], to: days[1] },
    rows: 3,
  })
  await t.rejects(compare(provider, { format: 'csv' }, 'request_id,amount\nx,1', Math.random, none), PeriodUnknown)
  const empty = await compare(provider, { format: 'csv' }, 'day,model,amount\n', Math.random)
  t.same(
    new Set(empty.findings.map(({ class: name }) => name)),
    new Set(['missing_there', 'timing']),
    'nothing was invoiced',
  )
  t.same(empty.totals.invoicedPicos, 0n)
})

t.test('rows that do not go together are bad rows', async (t) => {
  const [{ provider }] = ledger.truths as [ProviderTruth]
  const text = 'day,model,request_id,amount\n2026-03-01,a,,1\n2026-03-01,a,request-1,1'
  await t.rejects(
    compare(provider, { format: 'csv' }, text, Math.random),
    /"row":3.*is of a request, where rows before it are of a day/,
  )
  const bucket = (results: readonly object[]) =>
    JSON.stringify({ data: [{ starting_at: '2026-03-01T00:00:00Z', ending_at: '2026-03-02T00:00:00Z', results }] })
  const cost = { amount: '1', cost_type: 'tokens', token_type: 'output_tokens', model: 'a' }
  await t.rejects(
    compare(provider, { format: 'anthropic-cost' }, bucket([cost, { ...cost, model: null }]), Math.random),
    /"row":2.*has no model, and rows before it have one/,
  )
  await t.rejects(
    compare(provider, { format: 'anthropic-cost' }, bucket([cost, { amount: '1' }]), Math.random),
    /"row":2.*with an item cannot be mixed/,
  )
})

t.test('what is told again of a task counts once, and with other figures is a bad row', async (t) => {
  const [{ provider, tasks }] = ledger.truths as [ProviderTruth]
  const films = filmsOf(provider)
  const format = 'vv-deductions'
  const told = tasks
    .filter(({ day }) => day === days[1])
    .map(({ id, units, atMs }) => ({
      task_status: 'succeed',
      task_info: { external_task_id: id },
      updated_at: atMs,
      final_unit_deduction: units,
    }))
  const page = (data: readonly object[]) => JSON.stringify({ data })
  const wanted = { ...allDays, from: days[1], to: days[1] }
  const overlapping = [page(told.slice(0, 2)), page(told.slice(1))]
  const compared = await compare(films, { format }, overlapping, Math.random, wanted)
  t.same(foundIn(compared), {})
  t.same(compared.corrections, [])
  const other = page([{ ...told[1], final_unit_deduction: '44' }])
  await t.rejects(
    compare(films, { format }, [...overlapping, other], Math.random, wanted),
    new RegExp(
      `^\\[{"file":2,"row":1,"problem":"is of [^,]*${told[1]!.task_info.external_task_id}[^,]*, for which row 2 of file 1 has other figures"}\\]$`,
    ),
  )
})

t.test('units are compared that have as many decimals as are charged', async (t) => {
  const log = new MemoryLog()
  const units = `4.${'3'.repeat(64)}`
  const total = formatUsd(unitsPicosRoundingHalfUp(units, unitPrice))
  const lines = [{ item: 'video', quantity: units, unitPrice, amount: total } as const]
  await log.append([opened()])
  await log.postToWallet('acme', [credited('first'), taskPlaced('task-1')])
  await log.append([taskSubmitted('task-1'), taskSettled('task-1', { deduction: units, lines, total })])
  const tables = await openProjected(t, postgres)
  await project(log, tables.store, 5_000)
  const compareUnits = (invoiced: string) => {
    const text = `external_task_id,final_unit_deduction,day\ntask-1,${invoiced},${days[0]}\n`
    return compare('vv', { format: 'vv-deductions' }, text, Math.random, allDays, tables)
  }
  t.same(foundIn(await compareUnits(units)), {})
  const { findings } = await compareUnits('5')
  t.match(findings, [{ class: 'token_drift', id: 'task-1' }])
  const byVendorId = (vendorId: string) => {
    const text = `external_task_id,task_id,final_unit_deduction,day\n,${vendorId},${units},${days[0]}\n`
    return compare('vv', { format: 'vv-deductions' }, text, Math.random, allDays, tables)
  }
  t.same(foundIn(await byVendorId('vendor-task-1')), {}, "a row without our id is found by the vendor's")
  const { findings: foreign } = await byVendorId('task-1')
  t.match(foreign, [{ class: 'missing_here', upstreamRequestId: 'task-1' }], 'which is never taken for ours')
})

t.test('a second row of the same request is a bad row in the plain CSV', async (t) => {
  const [{ provider, charged }] = ledger.truths as [ProviderTruth]
  const [{ id, day, totalPicos }] = charged.filter(({ day }) => day === days[1]) as [Charged]
  const head = 'day,request_id,amount\n'
  const line = `${day},${id},${exactly(totalPicos)}\n`
  const twice = (texts: readonly string[]) => compare(provider, { format: 'csv' }, texts, Math.random)
  await t.rejects(twice([`${head}${line}${line}`]), /^\[{"file":0,"row":3,"problem":"is of .*, as is row 2"}\]$/)
  await t.rejects(
    twice([head + line, head + line]),
    /^\[{"file":1,"row":2,"problem":"is of .*, as is row 2 of file 1"}\]$/,
  )
})

/** A log of requests, each with the upstream ids of its failed and its served attempt, from ten seconds before March on. */
const servedAs = async (requests: readonly (readonly [id: string, served: string, failed?: string])[]) => {
  const startMs = Date.parse('2026-02-28T23:58:50Z')
  const log = new MemoryLog({ timeOf: (sequence) => new Date(startMs + sequence * 20_000).toISOString() })
  await log.append([opened()])
  await log.postToWallet('acme', [credited('first')])
  const bill = { provider: 'alpha', model: 'alpha/a', total: '0.00055' }
  const attempt = { provider: 'alpha', model: 'alpha/a', status: 200, reason: null, durationMs: 1 }
  for (const [id, served, failed = 'none'] of requests) {
    const attempts: Attempt[] = [
      { ...attempt, outcome: 'failed', status: 429, upstreamRequestId: failed },
      { ...attempt, outcome: 'served', upstreamRequestId: served },
    ]
    await log.append([routed(id), used(id, { ...bill, attempts })])
  }
  const tables = await openProjected(t, postgres)
  await project(log, tables.store, 5_000)
  return (lines: readonly string[]) => {
    const text = ['day,model,request_id,upstream_request_id,amount', ...lines].join('\n')
    return compare('alpha', { format: 'csv' }, text, Math.random, allDays, tables)
  }
}

t.test('a row without our request id is of the request that was served under the upstream id', async (t) => {
  const compareRows = await servedAs([
    ['early', 'up-0'],
    ['one', 'up-1', 'up-failed'],
    ['two', 'up-2'],
    ['three', 'up-3'],
  ])
  const { findings, corrections } = await compareRows([
    `${days[0]},a,,up-0,0.000550000000`,
    `${days[0]},a,,up-1,0.000650000000`,
    `${days[0]},a,two,up-of-another,0.000550000000`,
    `${days[0]},a,,three,0.000550000000`,
    `${days[0]},a,,up-failed,0.000100000000`,
  ])
  t.same(
    findings.map(({ class: name, id, upstreamRequestId }) => [name, id ?? upstreamRequestId, id === null]).sort(),
    [
      ['missing_here', 'three', true],
      ['missing_here', 'up-failed', true],
      ['missing_there', 'three', false],
      ['price_drift', 'one', false],
      ['timing', 'early', false],
    ],
    'an id of one kind is never taken for one of the other',
  )
  t.match(corrections, [{ corrects: 'one', debitPicos: parseUsd('0.0001') }])
  t.equal(corrections.length, 1)
})

t.test('an upstream id that leads to several requests, or twice to one, is a bad row', async (t) => {
  const compareRows = await servedAs([
    ['zero', 'up-0'],
    ['one', 'up-1'],
    ['two', 'up-shared'],
    ['three', 'up-shared'],
  ])
  const line = (requestId: string, upstreamId: string) => `${days[0]},a,${requestId},${upstreamId},0.00055`
  await t.rejects(
    compareRows([line('', 'up-1'), line('', 'up-shared')]),
    /^\[{"file":0,"row":3,"problem":"names the upstream_request_id ."up-shared.", which 2 requests of the ledger have: give the request_id"}\]$/,
  )
  await t.rejects(
    compareRows([line('one', ''), line('', 'up-1')]),
    /^\[{"file":0,"row":3,"problem":"is of ."one.", as is row 2"}\]$/,
  )
  await t.rejects(
    compareRows([line('', 'up-unknown'), line('', 'up-unknown')]),
    /^\[{"file":0,"row":3,"problem":"is of ."up-unknown.", as is row 2"}\]$/,
  )
  t.match(await compareRows([line('two', 'up-shared'), line('three', 'up-shared')]), { rows: 2 })
})

t.test('a charge that was given back, as nobody got the answer, is not corrected', async (t) => {
  const { log, truths } = makeLedger(['delta'], randomOf(3))
  const [{ provider, charged }] = truths as [ProviderTruth]
  const [lost, other] = charged.filter(({ estimated, day }) => !estimated && day === days[1]) as [Charged, Charged]
  const adjustment = adjusted(`undelivered:${lost.id}`, formatUsd(lost.totalPicos), lost.workspaceId)
  await log.postToWallet(lost.workspaceId, [{ ...adjustment, data: { ...adjustment.data, corrects: lost.id } }])
  const tables = await openProjected(t, postgres)
  await project(log, tables.store, 5_000)
  const lines = [lost, other].map(({ id, day, totalPicos }) => `${day},${id},${exactly(totalPicos / 2n)}`)
  const text = ['day,request_id,amount', ...lines].join('\n')
  const { findings, corrections } = await compare(provider, { format: 'csv' }, text, Math.random, allDays, tables)
  const differing = findings.filter(({ class: name }) => name === 'price_drift').map(({ id }) => id)
  t.same(differing.sort(), [lost.id, other.id].sort(), 'it differs all the same')
  t.same(
    corrections.map(({ corrects }) => corrects),
    [other.id],
  )
})

t.test('no more is given back than was charged', async (t) => {
  const invoice = new Invoice([fileOf('invoice', 'day,request_id,amount\n', Math.random)], 'csv', {
    provider: 'alpha',
    dayOf: createDayFormatter('UTC'),
    roundingPicos: null,
  })
  for await (const _ of invoice.rows());
  const names = createModelNames({ provider: 'alpha', catalog: { providers: new Map() }, prices })
  const rules = { layout: invoice.layout!, names, unitPrice: null, noteOf: () => '' }
  const invoiced = {
    id: 'one',
    isUpstreamId: false,
    file: 0,
    row: 2,
    rows: 1,
    day: days[0],
    model: null,
    quantities: new Map(),
  }
  const taken = (reason: 'reconciliation' | 'refund', amountPicos: bigint) => ({
    ...{ sequence: 1, adjustmentId: `${reason}:one:1`, corrects: 'one', reason, amountPicos },
  })
  const charged: LedgerSubject = {
    ...{ id: 'one', workspaceId: 'acme', model: 'alpha/a', estimated: false, lines: [] },
    state: 'charged',
    ...{ totalPicos: 10n, unitPricePicos: null, adjustments: [taken('reconciliation', 3n)] },
    ...{ inPeriod: true, atEdge: false, day: days[0] },
  }
  const takenFor = (amountPicos: bigint) => {
    const pair = { invoiced: { ...invoiced, amountPicos, roundingPicos: 0n }, ledger: charged }
    return compareSubject(pair, rules).correction?.debitPicos
  }
  t.equal(takenFor(-1_000n), -7n)
  t.equal(takenFor(0n), -7n)
  t.equal(takenFor(2n), -5n)
  t.equal(takenFor(9n), 2n)
  const estimated = { ...charged, estimated: true, adjustments: [] }
  const compareWith = (amountPicos: bigint) =>
    compareSubject({ invoiced: { ...invoiced, amountPicos, roundingPicos: 0n }, ledger: estimated }, rules)
  const classesOf = (amountPicos: bigint) =>
    compareWith(amountPicos).findings.map((finding) => [finding.class, finding.amountPicos])
  t.same(classesOf(20n), [['estimated', 10n]])
  t.equal(compareWith(20n).correction?.debitPicos, 10n)
  t.same(classesOf(1_390_000n), [
    ['estimated', 10n],
    ['unexplained', 1_389_980n],
  ])
  t.equal(compareWith(1_390_000n).correction, null, 'and nothing is posted')
})

t.test('one amount for a whole day, whatever was used', async (t) => {
  const [{ provider, charged }] = ledger.truths as [ProviderTruth]
  const data = days.map((day) => {
    const cents = charged
      .filter((each) => each.day === day)
      .reduce((sum, { totalPicos }) => sum + totalPicos * 100n, 0n)
    return {
      starting_at: `${day}T00:00:00Z`,
      ending_at: new Date(Date.parse(day) + 86_400_000).toISOString(),
      results: [{ amount: exactly(cents), currency: 'USD' }],
    }
  })
  const compared = await compare(provider, { format: 'anthropic-cost' }, JSON.stringify({ data }), Math.random)
  t.same(foundIn(compared), {})
  data[0]!.results[0]!.amount = '100000'
  const dearer = await compare(provider, { format: 'anthropic-cost' }, JSON.stringify({ data }), Math.random)
  t.same(
    dearer.findings.map(({ class: name, day }) => `${day} ${name}`),
    ['2026-03-01 timing', '2026-03-01 price_drift'],
    'what ended just before the period may be a part of it',
  )
})

t.test('what stands open beside the differences is listed', async (t) => {
  const [{ provider }] = ledger.truths as [ProviderTruth]
  const films = filmsOf(provider)
  const period = { from: days[0], to: days[3], timezone: 'UTC' }
  const listed = async <T>(lists: AsyncIterable<readonly T[]>): Promise<readonly T[]> => {
    const all: T[] = []
    for await (const some of lists) all.push(...some)
    return all
  }
  await PostgresReconcileRepository.run(projected.place, provider, async (books) => {
    t.match(await listed(books.openRequests('UTC')), [
      { requestId: `${provider}-open`, reservedPicos: parseUsd('0.25') },
    ])
    t.match(await listed(books.overdueHolds(Date.parse('2026-03-01T01:00:00.001Z'))), [{}, {}, {}])
    t.same(await listed(books.overdueHolds(Date.parse('2026-03-01T01:00:00.000Z'))), [])
    t.same((await listed(books.estimatedCharges(period))).map(({ id }) => id).sort(), [
      `${provider}-b-${days[1]}-0`,
      `${provider}-b-${days[1]}-1`,
    ])
    t.match(
      (await listed(books.secondClosings())).find(({ requestId }) => requestId.startsWith(provider)),
      { requestId: `${provider}-a-${days[0]}-0`, hadEnded: true, type: 'UsageRecorded' },
    )
  })
  await PostgresReconcileRepository.run(projected.place, films, async (books) => {
    const late = await listed(books.lateVerdicts(period))
    t.match(late, [{ taskId: `${provider}-film-failed`, costPicos: parseUsd('0.42') }])
    t.equal(late.length, 1, 'once, though it was recorded twice')
    t.equal((await listed(books.estimatedCharges(period))).length, 4)
  })
})

t.test('a name on an invoice leads to a model', async (t) => {
  const book = pricesOf(['alpha'])
  book.set('alpha/a-2026-01-01', book.get('alpha/a')!)
  const names = createModelNames({
    provider: 'alpha',
    catalog: { providers: new Map([['alpha', { models: { fast: 'tuned-17' } }]]) },
    prices: book,
    modelAliases: new Map([['Model A', 'alpha/a']]),
  })
  t.equal(names.canonical('a-2026-02-02'), 'a', 'a snapshot is its model')
  t.equal(names.canonical('a-20260202'), 'a')
  t.equal(names.canonical('a-2026-01-01'), 'a-2026-01-01', 'unless it has a price of its own')
  t.equal(names.canonicalOfPublic('alpha/fast'), 'tuned-17')
  t.equal(names.canonical('Model A'), 'a')
  t.ok(names.isKnown('tuned-17'))
  t.notOk(names.isKnown('zz'))
  t.same(names.findPrice('a', 'output', days[0]), { picos: 10_000_000n, per: 1n })
  t.same(names.findPrice('a', 'output', '2025-01-01'), null)
})

const correctionOf = (number: number): Correction => ({
  corrects: `request-${number}`,
  workspaceId: workspaces[number % workspaces.length]!,
  correctionsBefore: 0,
  debitPicos: BigInt(number + 1),
  differences: 1,
  unsignedPicos: 1n,
  note: 'a test',
  ledger: {
    ...{ id: `request-${number}`, workspaceId: 'acme', state: 'charged', model: 'a', estimated: false, lines: [] },
    ...{ totalPicos: 0n, unitPricePicos: null, adjustments: [] },
    ...{ inPeriod: true, atEdge: false, day: null },
  },
})

const posting = { by: 'operator:ana', reference: 'sha256:aa' }
const assertLogged = async (): Promise<void> => {}

t.test('corrections are posted once, also where a posting was interrupted', async (t) => {
  const log = new MemoryLog()
  const tail = new LedgerTail(initialLedger(), log)
  t.teardown(() => tail.stop())
  const corrections = Array.from({ length: 1_000 }, (_, number) => correctionOf(number))
  const post = async (books: ConstructorParameters<typeof CorrectionPoster>[0], isReal = true) => {
    const outcomes: string[] = []
    const poster = new CorrectionPoster(books, isReal ? () => posting : null, (_, outcome) => outcomes.push(outcome))
    for (const correction of corrections) await poster.add(correction)
    await poster.flush()
    return Object.fromEntries(
      [...Map.groupBy(outcomes, (outcome) => outcome)].map(([outcome, all]) => [outcome, all.length]),
    )
  }
  t.same(await post({ log, tail, assertLogged }, false), { not_posted: 1_000 })
  t.equal(log.frames.length, 0)
  let left = 4
  const breaking = {
    postToWallet: (...posted: Parameters<typeof log.postToWallet>) => {
      left -= 1
      return left < 0 ? Promise.reject(new Error('killed')) : log.postToWallet(...posted)
    },
  }
  await t.rejects(post({ log: breaking, tail, assertLogged }), /killed/)
  await tail.waitForSequence(await log.lastSequence())
  const outcomes = await post({ log, tail, assertLogged })
  t.equal(outcomes['posted']! + outcomes['stands']!, 1_000)
  t.ok(outcomes['stands']! > 256)
  t.same(await post({ log, tail, assertLogged }), { stands: 1_000 })
  const ids = log.frames.flatMap(({ events }) =>
    events.map(({ data }) => ('adjustmentId' in data ? data.adjustmentId : '')),
  )
  t.equal(new Set(ids).size, 1_000)
  const [first] = log.frames.flatMap(({ events }) => events)
  t.match(first, { actor: posting.by, data: posting })
  t.equal(ids.length, 1_000, 'each is in the log once')
  const taken = [...tail.ledger.wallets.values()].reduce((sum, { adjustmentsPicos }) => sum - adjustmentsPicos, 0n)
  t.equal(taken, 500_500n)
})

t.test('of two operators who post other amounts for one request, one is told so', async (t) => {
  const log = new MemoryLog()
  const tail = new LedgerTail(initialLedger(), log)
  t.teardown(() => tail.stop())
  const outcomes: string[] = []
  const post = async (correction: Correction, books: ConstructorParameters<typeof CorrectionPoster>[0]) => {
    const poster = new CorrectionPoster(
      books,
      () => posting,
      ({ debitPicos }, outcome) => outcomes.push(`${debitPicos} ${outcome}`),
    )
    await poster.add(correction)
    await poster.flush()
  }
  const wanted = correctionOf(4)
  const overtaken = {
    postToWallet: async (...posted: Parameters<typeof log.postToWallet>) => {
      await log.postToWallet(wanted.workspaceId, [toAdjustment({ ...wanted, debitPicos: 77n })])
      return log.postToWallet(...posted)
    },
  }
  await post(wanted, { log: overtaken, tail, assertLogged })
  await post(wanted, { log, tail, assertLogged })
  await post({ ...wanted, debitPicos: 77n }, { log, tail, assertLogged })
  t.same(outcomes, ['5 superseded', '5 superseded', '77 stands'])
})
