import type { PriceSheet, VideoSheet } from '../../events/types.ts'
import type { ImportedPrice, SkippedPrice } from './litellm.ts'
import { type PriceBook, type PublishedPrice, priceAt } from './price-book.ts'
import type { PriceEntry, PriceFile } from './price-file.ts'

export interface PriceDifference {
  /** `per_million_tokens.input` */
  readonly item: string
  readonly from: string | null
  readonly to: string | null
}

interface KeptRate {
  /** `service_tiers.priority.per_million_tokens.input` */
  readonly item: string
  readonly rate: string
}

export interface PriceChange {
  readonly change: 'added' | 'changed' | 'unchanged' | 'unsupported'
  readonly name: string
  readonly model: string | null
  readonly differences: readonly PriceDifference[]
  /** Price fields that the sheet does not have; for an unsupported row, those that make it unsupported. */
  readonly leftOut: readonly SkippedPrice[]
  /** Rates in force that the imported row does not have and that are kept. */
  readonly kept: readonly KeptRate[]
  readonly entry: PriceEntry | null
}

type Terms = PriceSheet | VideoSheet
type LengthRates = Pick<PriceSheet, 'per_million_tokens' | 'tiers'>
type Tree = { readonly [name: string]: Tree | string | number }

const rateTree = ({ tiers, ...rest }: LengthRates): Tree => ({
  ...rest,
  ...(tiers === undefined
    ? {}
    : { tiers: Object.fromEntries(tiers.map(({ prompt_tokens_above, ...tier }) => [prompt_tokens_above, tier])) }),
})

/** Tiers by their length, so that a figure has the same path wherever its tier is listed. */
const treeOf = (terms: Terms | undefined): Tree => {
  if (terms === undefined) return {}
  if (!('per_million_tokens' in terms)) return { ...terms }
  const { service_tiers, ...sheet } = terms
  const named = Object.entries(service_tiers ?? {}).map(([name, rates]) => [name, rateTree(rates)] as const)
  return { ...rateTree(sheet), ...(named.length === 0 ? {} : { service_tiers: Object.fromEntries(named) }) }
}

const withTierList = (tree: Tree): Tree => {
  if (tree['tiers'] === undefined) return tree
  const tiers = Object.entries(tree['tiers'] as Tree).map(([above, rates]) => ({
    prompt_tokens_above: Number(above),
    ...(rates as Tree),
  }))
  return { ...tree, tiers } as unknown as Tree
}

const sheetOf = (tree: Tree): PriceSheet => {
  const named = Object.entries((tree['service_tiers'] ?? {}) as Tree).map(
    ([name, rates]) => [name, withTierList(rates as Tree)] as const,
  )
  const sheet = { ...withTierList(tree), ...(named.length === 0 ? {} : { service_tiers: Object.fromEntries(named) }) }
  return sheet as unknown as PriceSheet
}

const figuresOf = (tree: Tree | string | number, path = ''): readonly (readonly [path: string, figure: string])[] =>
  typeof tree === 'object'
    ? Object.entries(tree).flatMap(([name, each]) => figuresOf(each, path === '' ? name : `${path}.${name}`))
    : [[path, String(tree)]]

const differencesOf = (before: Tree, after: Tree): readonly PriceDifference[] => {
  const [from, to] = [before, after].map((tree) => new Map(figuresOf(tree)))
  return [...new Set([...from!.keys(), ...to!.keys()])]
    .map((item) => ({ item, from: from!.get(item) ?? null, to: to!.get(item) ?? null }))
    .filter((difference) => difference.from !== difference.to)
}

/** Tools are priced by other tables, and the length of a prompt is no rate: neither can be removed. */
const alwaysKept = /^(per_call|context_tokens|currency)(\.|$)/

type Removes = (path: string) => boolean

const removesOf = (items: readonly string[]): Removes => {
  const isNamed = (path: string): boolean => items.some((item) => path === item || path.startsWith(`${item}.`))
  return (path) => !alwaysKept.test(path) && isNamed(path)
}

/** What is in force and not in the imported row is kept, unless it is removed. */
const withCurrent = (imported: Tree, current: Tree, removes: Removes, path = ''): Tree =>
  Object.fromEntries(
    [...new Set([...Object.keys(imported), ...Object.keys(current)])].flatMap((name) => {
      const at = path === '' ? name : `${path}.${name}`
      const [given, before] = [imported[name], current[name]]
      if (given === undefined && removes(at)) return []
      const merged =
        typeof (given ?? before) === 'object'
          ? withCurrent((given ?? {}) as Tree, (before ?? {}) as Tree, removes, at)
          : (given ?? before)!
      return typeof merged === 'object' && Object.keys(merged).length === 0 ? [] : [[name, merged] as const]
    }),
  )

const keptOf = (imported: Tree, current: Tree): readonly KeptRate[] => {
  const given = new Set(figuresOf(imported).map(([item]) => item))
  return figuresOf(current)
    .filter(([item]) => !given.has(item) && !alwaysKept.test(item))
    .map(([item, rate]) => ({ item, rate }))
}

interface ImportTerms {
  readonly prices: PriceBook
  /** Milliseconds since the epoch: the import is compared with the prices in force then. */
  readonly nowMs: number
  /** ISO 8601: when the published prices take effect. */
  readonly effectiveFrom: string
  readonly source: string
  /** `<model> <item>`: rates in force that are removed where the imported row does not have them. */
  readonly remove?: readonly string[]
}

interface Row {
  readonly name: string
  readonly leftOut: readonly SkippedPrice[]
  readonly entry: PriceEntry
}

const removedOf = (model: string, remove: readonly string[]): readonly string[] =>
  remove.filter((each) => each.startsWith(`${model} `)).map((each) => each.slice(model.length + 1))

const changeOf = (
  { name, leftOut, entry }: Row,
  current: PublishedPrice | undefined,
  remove: readonly string[],
): PriceChange => {
  const { model } = entry
  const nothing = { name, model, differences: [], kept: [], entry: null }
  if (current !== undefined && (current.video === undefined) !== (entry.video === undefined)) {
    const reason = current.video === undefined ? 'the model is priced by tokens here' : 'the model makes videos here'
    return { ...nothing, change: 'unsupported', leftOut: [{ field: 'mode', reason }] }
  }
  const before = treeOf(current?.sheet ?? current?.video)
  const imported = treeOf(entry.sheet ?? entry.video)
  const after = withCurrent(imported, before, removesOf(removedOf(model, remove)))
  const differences = differencesOf(before, after)
  const removed = new Set(differences.map(({ item }) => item))
  const kept = keptOf(imported, before).filter(({ item }) => !removed.has(item))
  if (differences.length === 0) return { ...nothing, change: 'unchanged', leftOut, kept }
  const terms = entry.video === undefined ? { sheet: sheetOf(after) } : { video: after as unknown as VideoSheet }
  const snapshots = entry.snapshots ?? current?.snapshots
  return {
    name,
    model,
    change: current === undefined ? 'added' : 'changed',
    differences,
    leftOut,
    kept,
    entry: { ...entry, ...(snapshots === undefined ? {} : { snapshots }), ...terms },
  }
}

const diffLiteLlm = (
  imported: readonly ImportedPrice[],
  { prices, nowMs, effectiveFrom, source, remove = [] }: ImportTerms,
): readonly PriceChange[] =>
  imported.map((each) => {
    const { name, model } = each
    if (!('sheet' in each))
      return { name, model, change: 'unsupported', differences: [], leftOut: each.unsupported, kept: [], entry: null }
    const entry = { model: each.model, effective_from: effectiveFrom, source, sheet: each.sheet }
    return changeOf({ name, leftOut: each.leftOut, entry }, priceAt(prices, each.model, nowMs), remove)
  })

const diffPriceFile = (
  file: PriceFile,
  { prices, remove = [] }: Pick<ImportTerms, 'prices' | 'remove'>,
): readonly PriceChange[] =>
  file.prices.map((entry) =>
    changeOf(
      { name: entry.model, leftOut: [], entry },
      priceAt(prices, entry.model, Date.parse(entry.effective_from)),
      remove,
    ),
  )

/** LiteLLM's rows are compared with the prices in force at `nowMs`, those of a price file each at its own instant. */
export const diffPrices = (
  imported: readonly ImportedPrice[] | PriceFile,
  terms: ImportTerms,
): readonly PriceChange[] => ('prices' in imported ? diffPriceFile(imported, terms) : diffLiteLlm(imported, terms))
