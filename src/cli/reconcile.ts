import { basename } from 'node:path'
import { formatUsd, parseUsd, withoutSign } from '../domain/money.ts'
import { type PriceBook, priceAt } from '../domain/pricing/price-book.ts'
import type { Catalog } from '../domain/routing/plan.ts'
import type { InvoiceReconciled } from '../events/types.ts'
import type { Correction } from '../reconcile/correction.ts'
import type { UnitPrice } from '../reconcile/decompose.ts'
import { harmlessClasses } from '../reconcile/finding.ts'
import { createDayFormatter } from '../reconcile/invoices/days.ts'
import { type FormatName, Invoice, type InvoiceFile } from '../reconcile/invoices/invoice.ts'
import { unitParts } from '../reconcile/invoices/row.ts'
import { createModelNames } from '../reconcile/models.ts'
import { type Reconciliation, reconcileInvoice } from '../reconcile/reconcile.ts'
import type { InvoicedSubject, LedgerSubject, ReconcileRepository } from '../reconcile/repository.ts'
import type { CommandContext } from './command-context.ts'
import { cliLimits } from './command-limits.ts'
import { CorrectionPoster, type PostingOutcome } from './post-corrections.ts'
import {
  correctionRecord,
  countHarmful,
  createReport,
  differenceRecord,
  printFaults,
  printRemainder,
  printSummary,
  type ReportedInvoice,
  reportLists,
} from './reconcile-report.ts'

export interface ReconcileOptions {
  readonly provider: string
  readonly format: FormatName
  readonly files: readonly InvoiceFile[]
  readonly from: string | null
  readonly to: string | null
  readonly timezone: string
  readonly roundingPicos: bigint | null
  readonly unitPricePicos: bigint | null
  readonly modelAliases: ReadonlyMap<string, string>
  /** `ask`: nothing is posted yet; what would be is the result's `toPost`. */
  readonly post: 'no' | 'ask' | 'yes'
  /** Who compares, and posts. */
  readonly operator: string
  readonly json: boolean
}

interface ReconcileContext extends CommandContext {
  readonly repository: ReconcileRepository
  readonly catalog: Pick<Catalog, 'providers'>
  readonly nowMs: number
  readonly assertLogged: (correction: Correction) => Promise<void>
}

/** The given price, or else the present price of any of the provider's video models: all have the same unit. */
const unitPriceOf = (
  prices: PriceBook,
  { provider, unitPricePicos }: ReconcileOptions,
  nowMs: number,
): UnitPrice | null => {
  const [sheet] = [...prices.keys()]
    .filter((model) => model.startsWith(`${provider}/`))
    .flatMap((model) => priceAt(prices, model, nowMs)?.video ?? [])
  const picos = unitPricePicos ?? (sheet === undefined ? null : parseUsd(sheet.unit_price))
  return picos === null ? null : { picos, per: unitParts }
}

const isCorrected = (outcome: PostingOutcome): boolean => outcome === 'posted' || outcome === 'stands'

const fileNameShownMax = 200

const noteFor =
  ({ provider, format, files }: ReconcileOptions) =>
  ({ file, row, amountPicos }: InvoicedSubject, { totalPicos }: LedgerSubject): string => {
    const name = basename(files[file]?.name ?? '').slice(0, fileNameShownMax)
    const invoiced = amountPicos === null ? '' : `invoiced ${formatUsd(amountPicos)}, `
    return `${provider} ${format}, ${name} row ${row}: ${invoiced}charged ${formatUsd(totalPicos)}`
  }

interface Compared {
  /** By now: differences beyond timing and rounding that are not corrected; or bad rows, with which nothing is compared. */
  readonly left: () => number
  readonly toPost: readonly Correction[]
  /** Posts what was shown. */
  readonly post: () => Promise<void>
  /** By now. Resolves with the frame; null with bad rows. */
  readonly record: () => Promise<number | null>
}

interface Corrected {
  differences: number
  debitPicos: bigint
  unsignedPicos: bigint
}

const countCorrected = (corrected: Corrected, correction: Correction, outcome: PostingOutcome): void => {
  if (!isCorrected(outcome)) return
  corrected.differences += correction.differences
  corrected.debitPicos += correction.debitPicos
  corrected.unsignedPicos += correction.unsignedPicos
}

type ReadPosting = NonNullable<ConstructorParameters<typeof CorrectionPoster>[1]>

const postShown = async (
  context: Pick<ReconcileContext, 'log' | 'tail' | 'assertLogged'>,
  posting: ReadPosting,
  corrections: readonly Correction[],
  options: Pick<ReconcileOptions, 'json'>,
  corrected: Corrected,
): Promise<void> => {
  const shown = createReport(options)
  const poster = new CorrectionPoster(context, posting, (correction, outcome) => {
    shown.add('correction', correctionRecord(correction, outcome))
    countCorrected(corrected, correction, outcome)
  })
  for (const correction of corrections) await poster.add(correction)
  await poster.flush()
  shown.end()
}

const harmlessPicos = ({ totals: { classes } }: Reconciliation): bigint =>
  [...harmlessClasses].reduce((sum, name) => sum + (classes.get(name)?.amountPicos ?? 0n), 0n)

export const runReconcile = async (
  { repository, log, tail, catalog, nowMs, assertLogged }: ReconcileContext,
  options: ReconcileOptions,
): Promise<Compared> => {
  const { provider, format, files, timezone, roundingPicos } = options
  const { prices } = tail.ledger
  const reported: ReportedInvoice = { provider, format, fileNames: files.map(({ name }) => name) }
  const shown = createReport(options)
  const corrected: Corrected = { differences: 0, debitPicos: 0n, unsignedPicos: 0n }
  let harmfulPicos = 0n
  const toPost: Correction[] = []
  const invoice = new Invoice(files, format, { provider, dayOf: createDayFormatter(timezone), roundingPicos })
  const posting: ReadPosting = () => ({ by: options.operator, reference: `sha256:${invoice.digest}` })
  const postsNow = options.post === 'yes'
  const poster = new CorrectionPoster({ log, tail, assertLogged }, postsNow ? posting : null, (correction, outcome) => {
    shown.add('correction', correctionRecord(correction, outcome))
    countCorrected(corrected, correction, outcome)
    if (options.post === 'ask' && outcome === 'not_posted' && toPost.length <= cliLimits.correctionsAskedMax)
      toPost.push(correction)
  })
  const result = await reconcileInvoice({
    invoice,
    repository,
    names: createModelNames({ provider, catalog, prices, modelAliases: options.modelAliases }),
    unitPrice: unitPriceOf(prices, options, nowMs),
    timezone,
    from: options.from,
    to: options.to,
    noteOf: noteFor(options),
    onFinding: (finding) => {
      if (!harmlessClasses.has(finding.class)) harmfulPicos += withoutSign(finding.amountPicos)
      shown.add('difference', differenceRecord(finding, reported, options.json))
    },
    onCorrection: (correction) => poster.add(correction),
  })
  if ('faults' in result) {
    printFaults(result, reported, options.json)
    return { left: () => result.faultsCount, toPost, post: async () => {}, record: async () => null }
  }
  await poster.flush()
  const { sequence } = repository
  await reportLists(repository, result.period, nowMs, shown)
  shown.end()
  const left = (): number => countHarmful(result.totals) - corrected.differences
  const remainder = () => ({
    explained: formatUsd(harmlessPicos(result) + corrected.debitPicos),
    unreconciled: formatUsd(harmfulPicos - corrected.unsignedPicos),
  })
  const { digest } = invoice
  const outcome = (): InvoiceReconciled => ({
    ...{ provider, ...result.period, sequence, digest, differences: left() },
    invoiced: formatUsd(result.totals.invoicedPicos),
    charged: formatUsd(result.totals.ledgerPicos),
    ...remainder(),
  })
  printSummary(
    { invoice: reported, reconciliation: result, sequence, corrected: corrected.differences, ...remainder() },
    options,
  )
  return {
    left,
    toPost,
    post: async () => {
      await postShown({ log, tail, assertLogged }, posting, toPost, options, corrected)
      printRemainder(remainder(), options)
    },
    record: async () =>
      (await log.append([{ type: 'InvoiceReconciled', data: outcome(), actor: options.operator }])).sequence,
  }
}
