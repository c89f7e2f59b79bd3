import type { PriceSheet } from '../../events/types.ts'
import type { ImportedPrice, SkippedPrice } from './litellm.ts'
import { type PriceBook, priceAt } from './price-book.ts'
import type { PriceEntry } from './price-file.ts'

/** A figure of a sheet before and after; null where it has none. */
export interface PriceDifference {
  /** `per_million_tokens.input` */
  readonly item: string
  readonly from: string | null
  readonly to: string | null
}

/** What an import would do to one model. */
export interface PriceChange {
  readonly change: 'added' | 'changed' | 'unchanged' | 'unsupported'
  /** As the imported table calls it. */
  readonly name: string
  readonly model: string | null
  readonly differences: readonly PriceDifference[]
  /** Price fields that the sheet does not have; of an unsupported row, those that keep it from being one. */
  readonly leftOut: readonly SkippedPrice[]
  /** What would be published; null for a row that is unchanged or unsupported. */
  readonly entry: PriceEntry | null
}

/** Every figure of a sheet, by its path. */
const figuresOf = (value: unknown, path: string): readonly (readonly [path: string, figure: string])[] => {
  if (typeof value !== 'object' || value === null) return [[path, String(value)]]
  return Object.entries(value).flatMap(([name, each]) => figuresOf(each, path === '' ? name : `${path}.${name}`))
}

const differencesOf = (before: PriceSheet | undefined, after: PriceSheet): readonly PriceDifference[] => {
  const [from, to] = [before ?? {}, after].map((sheet) => new Map(figuresOf(sheet, '')))
  return [...new Set([...from!.keys(), ...to!.keys()])]
    .map((item) => ({ item, from: from!.get(item) ?? null, to: to!.get(item) ?? null }))
    .filter((difference) => difference.from !== difference.to)
}

/** What the imported table has no words for stays: tools that it does not price, and how long a prompt may be. */
const withStanding = (sheet: PriceSheet, standing: PriceSheet | undefined): PriceSheet => {
  const perCall = { ...standing?.per_call, ...sheet.per_call }
  return {
    ...sheet,
    ...(Object.keys(perCall).length === 0 ? {} : { per_call: perCall }),
    ...(standing?.context_tokens === undefined ? {} : { context_tokens: standing.context_tokens }),
  }
}

export interface ImportTerms {
  readonly prices: PriceBook
  /** Milliseconds since the epoch: with what is in force then it is compared. */
  readonly nowMs: number
  /** ISO 8601: from when on what is published counts. */
  readonly effectiveFrom: string
  readonly source: string
}

const changeOf = (imported: ImportedPrice, { prices, nowMs, effectiveFrom, source }: ImportTerms): PriceChange => {
  const { name, model } = imported
  const nothing = { name, model, differences: [], entry: null }
  if (!('sheet' in imported)) return { ...nothing, change: 'unsupported', leftOut: imported.unsupported }
  const standing = priceAt(prices, imported.model, nowMs)
  if (standing?.video !== undefined)
    return { ...nothing, change: 'unsupported', leftOut: [{ field: 'mode', reason: 'the model makes videos here' }] }
  const sheet = withStanding(imported.sheet, standing?.sheet)
  const differences = differencesOf(standing?.sheet, sheet)
  const { leftOut } = imported
  if (differences.length === 0) return { ...nothing, change: 'unchanged', leftOut }
  const entry = { model: imported.model, effective_from: effectiveFrom, source, sheet }
  return { name, model, change: standing === undefined ? 'added' : 'changed', differences, leftOut, entry }
}

/** What importing these prices would change. */
export const diffPrices = (imported: readonly ImportedPrice[], terms: ImportTerms): readonly PriceChange[] =>
  imported.map((each) => changeOf(each, terms))
