import type { PriceSheet } from '../../events/types.ts'
import type { ImportedPrice, SkippedPrice } from './litellm.ts'
import { type PriceBook, priceAt } from './price-book.ts'
import type { PriceEntry } from './price-file.ts'

export interface PriceDifference {
  /** `per_million_tokens.input` */
  readonly item: string
  readonly from: string | null
  readonly to: string | null
}

export interface PriceChange {
  readonly change: 'added' | 'changed' | 'unchanged' | 'unsupported'
  readonly name: string
  readonly model: string | null
  readonly differences: readonly PriceDifference[]
  /** Price fields that the sheet does not have; for an unsupported row, those that make it unsupported. */
  readonly leftOut: readonly SkippedPrice[]
  readonly entry: PriceEntry | null
}

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

/** What the imported table cannot express is kept: tools that it does not price, and the length of a prompt. */
const withCurrent = (sheet: PriceSheet, current: PriceSheet | undefined): PriceSheet => {
  const perCall = { ...current?.per_call, ...sheet.per_call }
  return {
    ...sheet,
    ...(Object.keys(perCall).length === 0 ? {} : { per_call: perCall }),
    ...(current?.context_tokens === undefined ? {} : { context_tokens: current.context_tokens }),
  }
}

interface ImportTerms {
  readonly prices: PriceBook
  /** Milliseconds since the epoch: the import is compared with the prices in force then. */
  readonly nowMs: number
  /** ISO 8601: when the published prices take effect. */
  readonly effectiveFrom: string
  readonly source: string
}

const changeOf = (imported: ImportedPrice, { prices, nowMs, effectiveFrom, source }: ImportTerms): PriceChange => {
  const { name, model } = imported
  const nothing = { name, model, differences: [], entry: null }
  if (!('sheet' in imported)) return { ...nothing, change: 'unsupported', leftOut: imported.unsupported }
  const current = priceAt(prices, imported.model, nowMs)
  if (current?.video !== undefined)
    return { ...nothing, change: 'unsupported', leftOut: [{ field: 'mode', reason: 'the model makes videos here' }] }
  const sheet = withCurrent(imported.sheet, current?.sheet)
  const differences = differencesOf(current?.sheet, sheet)
  const { leftOut } = imported
  if (differences.length === 0) return { ...nothing, change: 'unchanged', leftOut }
  const snapshots = current?.snapshots === undefined ? {} : { snapshots: current.snapshots }
  const entry = { model: imported.model, effective_from: effectiveFrom, source, ...snapshots, sheet }
  return { name, model, change: current === undefined ? 'added' : 'changed', differences, leftOut, entry }
}

export const diffPrices = (imported: readonly ImportedPrice[], terms: ImportTerms): readonly PriceChange[] =>
  imported.map((each) => changeOf(each, terms))
