import { isDeepStrictEqual } from 'node:util'
import { type LengthRates, serviceRatesOf } from '../../src/domain/pricing/charge.ts'
import type { PriceFile } from '../../src/domain/pricing/price-file.ts'
import type { PriceSheet } from '../../src/events/types.ts'

type ShippedRow = PriceFile['prices'][number]

interface TableRow {
  readonly model: string
  readonly sheet: PriceSheet
}

/** When the table was made: of `litellm` in `requirements.txt`. It has no prices that begin later. */
const tableTime = Date.parse('2026-11-27T00:00:00Z')

const cloudRow = /^(?:azure|bedrock|vertex)\//

/** Whose prices a cloud's page repeats. */
const makers = [['vertex/gemini', 'google/gemini']] as const

/** Members of a shipped sheet that the other row must have as they are. */
const figuresOf = ({ per_million_tokens, tiers }: LengthRates) => ({ per_million_tokens, tiers })

const isSame = (shipped: PriceSheet, theirs: PriceSheet): boolean => {
  const tiers = Object.keys(shipped.service_tiers ?? {})
  const ratesOf = (sheet: PriceSheet) =>
    [sheet, ...tiers.map((tier) => serviceRatesOf(sheet, { serviceTier: tier }))].map(figuresOf)
  return isDeepStrictEqual(ratesOf(shipped), ratesOf(theirs))
}

const isAnnounced = ({ effective_from: from }: ShippedRow): boolean => Date.parse(from) > tableTime

/** The maker's own price from the same instant on. */
const findMakerRow = (prices: readonly ShippedRow[], { model, effective_from: from }: ShippedRow) => {
  const named = makers.find(([cloud]) => model.startsWith(cloud))
  const ofMaker = named === undefined ? null : model.replace(...named)
  return prices.find((row) => row.model === ofMaker && Date.parse(row.effective_from) === Date.parse(from))
}

/** Rows of clouds are taken from the table; an announced price, which it cannot have, is the maker's own. */
export const compareClouds = (
  prices: readonly ShippedRow[],
  table: readonly TableRow[],
): { readonly compared: number; readonly announced: number; readonly differing: readonly string[] } => {
  const shipped = prices.filter(({ model }) => cloudRow.test(model))
  const differing = shipped.filter((row) => {
    const other = isAnnounced(row) ? findMakerRow(prices, row) : table.find(({ model }) => model === row.model)
    return row.sheet === undefined || other?.sheet === undefined || !isSame(row.sheet, other.sheet)
  })
  return {
    compared: shipped.length,
    announced: shipped.filter(isAnnounced).length,
    differing: differing.map(({ model, effective_from: from }) => `${model} from ${from}`),
  }
}
