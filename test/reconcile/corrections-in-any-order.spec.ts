import t from 'tap'
import { PostgresReconcileRepository } from '../../src/adapters/postgres/reconcile-repository.ts'
import { collectEvidence } from '../../src/audit/collect-evidence.ts'
import { confirmReported, summarizeCharge } from '../../src/audit/confirm.ts'
import type { Evidence } from '../../src/audit/evidence.ts'
import { explainCharge } from '../../src/audit/explain-charge.ts'
import { readEvidence } from '../../src/audit/read-evidence.ts'
import { createLoggedCheck } from '../../src/cli/assert-logged.ts'
import { CorrectionPoster } from '../../src/cli/post-corrections.ts'
import { findOrCreateWallet } from '../../src/domain/ledger/ledger.ts'
import { formatUsd, maxOf, minOf, parseUsd } from '../../src/domain/money.ts'
import { usageOf } from '../../src/domain/usage/usage.ts'
import type { WalletCommand } from '../../src/domain/wallet/decide.ts'
import { balancePicos } from '../../src/domain/wallet/wallet.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import { WalletCommandHandler } from '../../src/log/wallet-command-handler.ts'
import { createDayFormatter } from '../../src/reconcile/invoices/days.ts'
import { Invoice } from '../../src/reconcile/invoices/invoice.ts'
import { createModelNames } from '../../src/reconcile/models.ts'
import { reconcileInvoice } from '../../src/reconcile/reconcile.ts'
import { opened, routed, used } from '../roles/projector/facts.ts'
import { ledgerOf, openProjected, project } from '../roles/projector/projecting.ts'
import { silentLogger } from '../support/log-lines.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'
import { propertyRuns } from '../support/property-runs.ts'
import { randomOf } from '../support/random.ts'
import { pricesOf, sheet } from './ledger.ts'

const steps = ['confirm', 'refund', 'correct', 'goodwill', 'reconcile'] as const
type Step = (typeof steps)[number]

const ordersOf = (left: readonly Step[]): readonly (readonly Step[])[] =>
  left.length === 0
    ? [[]]
    : left.flatMap((first) => ordersOf(left.filter((each) => each !== first)).map((rest) => [first, ...rest]))

const totalPicos = parseUsd('0.01')
const usage = usageOf({ total: 1_000_000 }, { total: 1_000 })
/** At the prices of the sheet. */
const reportedPicos = parseUsd('1.26')
const refunds = [1_000n, totalPicos / 4n, totalPicos, reportedPicos]
const corrections = [-totalPicos, -5_000n, 7_000n, totalPicos / 2n, totalPicos]
/** Amounts are further apart than what counts as rounding. */
const goodwillPicos = 3_000n
const invoices = [0n, 1_950_000n, totalPicos / 2n, totalPicos, reportedPicos, 2n * reportedPicos]

/** What each step has to do: the figure is the last word, what is given back remains, and no step pays for a request. */
interface Model {
  figurePicos: bigint
  givenPicos: bigint
  isGivenBack: boolean
  isReconciled: boolean
}

interface Subject {
  readonly id: string
  readonly workspaceId: string
  readonly order: readonly Step[]
  readonly refundPicos: bigint
  readonly correctionPicos: bigint
  readonly invoicePicos: bigint
  readonly lastInvoicePicos: bigint
  readonly model: Model
}

const netOf = ({ figurePicos, givenPicos }: Model): bigint => figurePicos - givenPicos

const giveBack = (model: Model, picos: bigint): void => {
  model.givenPicos += picos
  model.isGivenBack = netOf(model) <= 0n
}

const reconcileModel = (model: Model, invoicePicos: bigint): void => {
  if (model.isGivenBack) return
  const lowest = model.figurePicos - maxOf(0n, minOf(model.figurePicos, netOf(model)))
  const figurePicos = maxOf(lowest, invoicePicos)
  if (figurePicos !== model.figurePicos) model.isReconciled = true
  model.figurePicos = figurePicos
}

const applyStep = (step: Step, { model, refundPicos, correctionPicos, invoicePicos }: Subject): void => {
  const leftPicos = maxOf(0n, netOf(model))
  if (step === 'refund' && refundPicos <= leftPicos) giveBack(model, refundPicos)
  if (step === 'goodwill') giveBack(model, goodwillPicos)
  if (step === 'correct' && correctionPicos <= leftPicos) model.figurePicos -= correctionPicos
  if (step === 'confirm' && !model.isReconciled && !model.isGivenBack && model.figurePicos - reportedPicos <= leftPicos)
    model.figurePicos = reportedPicos
  if (step === 'reconcile') reconcileModel(model, invoicePicos)
}

const postgres = await startPostgres(t)
const provider = 'alpha'
const prices = pricesOf([provider])

class Scene {
  readonly log = new MemoryLog()
  readonly tail = new LedgerTail(ledgerOf(this.log), this.log)
  readonly handler = new WalletCommandHandler(this.log, this.tail)
  readonly projected: Awaited<ReturnType<typeof openProjected>>

  constructor(projected: Scene['projected']) {
    this.projected = projected
  }

  async catchUp(): Promise<void> {
    await this.tail.waitForSequence(await this.log.lastSequence())
    await project(this.log, this.projected.store, 5_000)
  }

  evidence(id: string): Promise<Evidence> {
    return collectEvidence({ frames: this.log, to: this.log.frames.length }, id)
  }

  async post(subject: Subject, command: (evidence: Evidence) => WalletCommand | null): Promise<void> {
    const posted = command(await this.evidence(subject.id))
    if (posted !== null) await this.handler.execute(subject.workspaceId, posted)
  }

  adjust(subject: Subject, amountPicos: bigint, reason: 'refund' | 'correction' | 'goodwill'): Promise<void> {
    return this.post(subject, (evidence) => ({
      ...{ type: 'Adjust', amountPicos, reason, reference: reason, corrects: subject.id, note: '', nowMs: 0 },
      chargedPicos: summarizeCharge(evidence).chargedPicos,
    }))
  }

  confirm(subject: Subject): Promise<void> {
    return this.post(subject, (evidence) => {
      const { reconciledBy, isGivenBack, ...charge } = summarizeCharge(evidence)
      const fact = confirmReported(evidence, 'operator:ana')
      if (reconciledBy !== null || isGivenBack || fact === null) return null
      return { type: 'CorrectCharge', adjustment: fact.data, ...charge }
    })
  }

  async reconcile(rows: readonly (readonly [Subject, bigint])[]): Promise<readonly string[]> {
    await this.catchUp()
    const { log, tail, projected } = this
    const database = projected.database
    const assertLogged = createLoggedCheck({ log, frames: log, tail, logger: silentLogger, database }, provider)
    const outcomes: string[] = []
    const posting = () => ({ by: 'operator:ana', reference: 'sha256:aa' })
    const poster = new CorrectionPoster({ log, tail, assertLogged }, posting, (_, outcome) => outcomes.push(outcome))
    const lines = rows.map(
      ([{ id }, picos]) => `2026-03-01,${id},${formatUsd(picos).replace(/^\d+$/, '$&.0').padEnd(14, '0')}`,
    )
    const text = ['day,request_id,amount', ...lines].join('\n')
    await PostgresReconcileRepository.run(projected.place, provider, async (repository) => {
      const result = await reconcileInvoice({
        invoice: new Invoice(
          [
            {
              name: 'invoice',
              open: async function* () {
                yield Buffer.from(text)
              },
            },
          ],
          'csv',
          { provider, dayOf: createDayFormatter('UTC'), roundingPicos: 0n },
        ),
        repository,
        names: createModelNames({ provider, catalog: { providers: new Map() }, prices }),
        unitPrice: null,
        ...{ from: '2026-03-01', to: '2026-03-01', timezone: 'UTC' },
        noteOf: () => '',
        onFinding: () => {},
        onCorrection: (correction) => poster.add(correction),
      })
      if ('faults' in result) throw new Error(JSON.stringify(result.faults))
    })
    await poster.flush()
    await this.catchUp()
    return outcomes
  }
}

const pick = <T>(list: readonly T[], random: () => number): T => list[Math.floor(random() * list.length)]!

const makeSubjects = (random: () => number): readonly Subject[] =>
  ordersOf(steps).map((order, place) => ({
    ...{ id: `request-${place}`, workspaceId: `workspace-${place}`, order },
    refundPicos: pick(refunds, random),
    correctionPicos: pick(corrections, random),
    invoicePicos: pick(invoices, random),
    lastInvoicePicos: pick(invoices, random),
    model: { figurePicos: totalPicos, givenPicos: 0n, isGivenBack: false, isReconciled: false },
  }))

const charge = async ({ log }: Scene, subjects: readonly Subject[]): Promise<void> => {
  const [model, priceVersion] = [`${provider}/a`, 'v1']
  const published = { model, version: priceVersion, effectiveFrom: '2026-01-01T00:00:00Z', source: 'a test', sheet }
  await log.append([{ type: 'PricePublished', data: published }])
  for (const { id, workspaceId } of subjects) {
    await log.postToWallet(workspaceId, [opened(workspaceId)])
    const lines = [{ item: 'output', quantity: 1, unitPrice: '0.01', amount: '0.01' }]
    const bill = { workspaceId, model, provider, priceVersion, usage, plausible: false as const, lines, total: '0.01' }
    await log.append([routed(id, { workspaceId })])
    await log.append([used(id, bill)])
  }
}

const takeStep = async (scene: Scene, step: Step, subjects: readonly Subject[]): Promise<void> => {
  if (step === 'reconcile') {
    await scene.reconcile(subjects.map((subject) => [subject, subject.invoicePicos]))
    return
  }
  for (const subject of subjects) {
    if (step === 'confirm') await scene.confirm(subject)
    else if (step === 'refund') await scene.adjust(subject, subject.refundPicos, 'refund')
    else if (step === 'goodwill') await scene.adjust(subject, goodwillPicos, 'goodwill')
    else await scene.adjust(subject, subject.correctionPicos, 'correction')
  }
  await scene.catchUp()
}

const { numRuns: seeds } = propertyRuns(1)

for (let seed = 1; seed <= seeds; seed += 1)
  t.test(`corrections of one charge in every order, seed ${seed}`, async (t) => {
    const scene = new Scene(await openProjected(t, postgres))
    t.teardown(() => scene.tail.stop())
    const subjects = makeSubjects(randomOf(seed))
    await charge(scene, subjects)
    await scene.catchUp()

    const compareNets = (after: string): void => {
      for (const { id, workspaceId, order, model } of subjects) {
        const wallet = findOrCreateWallet(scene.tail.ledger, workspaceId)
        if (balancePicos(wallet) !== -netOf(model))
          t.fail(
            `${id}, ${order.join(' ')}, after ${after}: ${formatUsd(balancePicos(wallet))} for ${formatUsd(-netOf(model))}`,
          )
      }
    }
    for (const [place] of steps.entries())
      for (const step of steps) {
        const some = subjects.filter(({ order }) => order[place] === step)
        await takeStep(scene, step, some)
        for (const subject of some) applyStep(step, subject)
        compareNets(`step ${place}, ${step}`)
        const frames = scene.log.frames.length
        await takeStep(scene, step, some)
        t.equal(scene.log.frames.length, frames, `step ${place}: ${step}, repeated, posts nothing`)
      }

    await scene.reconcile(subjects.map((subject) => [subject, subject.lastInvoicePicos]))
    for (const { model, lastInvoicePicos } of subjects) reconcileModel(model, lastInvoicePicos)
    compareNets('the last invoice')
    t.same(await scene.reconcile(subjects.map((subject) => [subject, subject.lastInvoicePicos])), [], 'nothing is left')

    const reads = scene.projected.database.readModels()
    for (const { id, model, lastInvoicePicos } of subjects) {
      const { value: trace, sequence } = await reads.findTrace(id)
      const byTables = await readEvidence(scene.log, reads, id, { trace: trace!, sequence })
      const byLog = await scene.evidence(id)
      for (const evidence of [byTables, byLog])
        if (explainCharge(evidence)?.net !== formatUsd(netOf(model))) t.fail(`${id}: another net`)
      if (netOf(model) < -goodwillPicos) t.fail(`${id}: more than its charge was given back, beyond goodwill`)
      if (!model.isGivenBack && model.givenPicos === 0n && netOf(model) !== lastInvoicePicos)
        t.fail(`${id}: not as invoiced`)
    }
  })

t.test('a reversed correction no longer counts', async (t) => {
  const scene = new Scene(await openProjected(t, postgres))
  t.teardown(() => scene.tail.stop())
  const [subject] = makeSubjects(randomOf(1)) as [Subject]
  await charge(scene, [subject])
  const { id, workspaceId } = subject
  const balance = () => formatUsd(balancePicos(findOrCreateWallet(scene.tail.ledger, workspaceId)))
  const reverse = async (corrects: string, amount: string, reference: string) => {
    const command = {
      type: 'Adjust',
      amountPicos: parseUsd(amount),
      reason: 'correction',
      reference,
      corrects,
    } as const
    await scene.handler.execute(workspaceId, { ...command, note: '', nowMs: 0 })
  }
  t.same(await scene.reconcile([[subject, parseUsd('14.99')]]), ['posted'])
  t.equal(balance(), '-14.99')
  await scene.confirm(subject)
  t.equal(balance(), '-14.99', 'what is reconciled is not confirmed')
  await reverse(`reconciliation:${id}:1`, '14.98', 'ticket-1')
  t.equal(balance(), '-0.01')
  await scene.confirm(subject)
  t.equal(balance(), '-1.26', 'where that is reversed, it is')
  t.same(await scene.reconcile([[subject, parseUsd('1.26')]]), [])
  t.same(await scene.reconcile([[subject, parseUsd('14.99')]]), ['posted'])
  t.equal(balance(), '-14.99')
  await reverse(`reconciliation:${id}:2`, '13.73', 'ticket-2')
  t.same(await scene.reconcile([[subject, parseUsd('14.99')]]), ['posted'], 'the invoice is the last word')
  t.equal(balance(), '-14.99')
})
