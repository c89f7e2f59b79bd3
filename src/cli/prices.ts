import { priceAt } from '../domain/pricing/price-book.ts'
import type { PriceSheet, VideoSheet } from '../events/types.ts'
import type { CommandContext } from './command-context.ts'
import { CommandError } from './report.ts'

export { publishPrices, publishUnknownPrices } from '../administration/price-changes.ts'

/** Every sheet by model and instant; `in_force` marks what is charged at `atMs`. USD per million tokens. */
export const priceRecords = ({ tail }: CommandContext, model: string | undefined, atMs: number) => {
  const { prices } = tail.ledger
  if (model !== undefined && !prices.has(model)) throw new CommandError(`no price of ${model} was ever published`)
  return [...prices.values()]
    .flat()
    .filter((price) => model === undefined || price.model === model)
    .toSorted((a, b) => (a.model < b.model ? -1 : a.model > b.model ? 1 : a.effectiveFromMs - b.effectiveFromMs))
    .map((price) => ({ price, inForce: priceAt(prices, price.model, atMs) === price }))
}

type PriceRecord = ReturnType<typeof priceRecords>[number]

export const priceInFull = ({ price, inForce }: PriceRecord) => ({
  model: price.model,
  effective_from: price.effectiveFrom,
  version: price.version,
  in_force: inForce,
  source: price.source,
  ...(price.snapshots === undefined ? {} : { snapshots: price.snapshots }),
  ...(price.sheet === undefined ? {} : { sheet: price.sheet }),
  ...(price.video === undefined ? {} : { video: price.video }),
})

const listed = (rates: Readonly<Record<string, string>>): string =>
  Object.entries(rates)
    .map(([item, rate]) => `${item}=${rate}`)
    .join(' ')

const videoInShort = ({ unit_price, units_per_second }: VideoSheet) => ({
  unit: unit_price,
  units_per_second: listed(units_per_second),
})

/** More would make the line too long to read. */
const perCallShownMax = 4

const perCallInShort = (rates: Readonly<Record<string, string>>): string => {
  const count = Object.keys(rates).length
  return count > perCallShownMax ? `${count} rates` : listed(rates)
}

const tokensInShort = ({ per_million_tokens, tiers = [], service_tiers = {}, per_call = {} }: PriceSheet) => {
  const { input, cached_input, cache_write_5m, output } = per_million_tokens
  return {
    input,
    cached: cached_input ?? '',
    cache_write: cache_write_5m ?? '',
    output,
    tiers: [...tiers.map(({ prompt_tokens_above }) => `>${prompt_tokens_above}`), ...Object.keys(service_tiers)].join(
      ' ',
    ),
    per_call: perCallInShort(per_call),
  }
}

export const priceInShort = ({ price, inForce }: PriceRecord) => ({
  model: price.model,
  effective_from: price.effectiveFrom,
  in_force: inForce ? 'yes' : '',
  ...(price.sheet === undefined ? {} : tokensInShort(price.sheet)),
  ...(price.video === undefined ? {} : videoInShort(price.video)),
  version: price.version,
})

/** One line per tool, USD per call; empty where the short form has them all. */
export const perCallRecords = ({ price }: PriceRecord) => {
  const rates = Object.entries(price.sheet?.per_call ?? {})
  return rates.length > perCallShownMax ? rates.map(([per_call, usd]) => ({ per_call, usd })) : []
}
