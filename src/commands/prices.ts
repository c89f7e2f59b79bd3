import { isPublished } from '../domain/pricing/price-book.ts'
import type { PriceFile } from '../domain/pricing/price-file.ts'
import { canonicalPrice } from '../domain/pricing/price-file.ts'
import type { PricePublished } from '../events/types.ts'
import { type Books, sha256Hex } from './accounts.ts'

const versionLength = 16

const publishedOf = (entry: PriceFile['prices'][number]): PricePublished => ({
  model: entry.model,
  version: sha256Hex(canonicalPrice(entry)).slice(0, versionLength),
  effectiveFrom: entry.effective_from,
  source: entry.source,
  sheet: entry.sheet,
})

const append = async ({ log, tail }: Books, fresh: readonly PricePublished[]): Promise<readonly PricePublished[]> => {
  if (fresh.length === 0) return fresh
  const { sequence } = await log.append(fresh.map((data) => ({ type: 'PricePublished', data })))
  await tail.reached(sequence)
  return fresh
}

/** Publishes the sheets that are not in force from their instant already; answers with those that were new. */
export const publishPrices = (books: Books, file: PriceFile): Promise<readonly PricePublished[]> =>
  append(
    books,
    file.prices.map(publishedOf).filter((price) => !isPublished(books.tail.ledger.prices, price)),
  )

/** Publishes what the log has never had: a start does not take a later correction back. */
export const publishUnknownPrices = (books: Books, file: PriceFile): Promise<readonly PricePublished[]> => {
  const known = (price: PricePublished): boolean =>
    (books.tail.ledger.prices.get(price.model) ?? []).some(({ version }) => version === price.version)
  return append(
    books,
    file.prices.map(publishedOf).filter((price) => !known(price)),
  )
}

export const priceRecords = ({ tail }: Books, model: string | undefined) =>
  [...tail.ledger.prices.values()]
    .flat()
    .filter((price) => model === undefined || price.model === model)
    .toSorted((a, b) => (a.model < b.model ? -1 : a.model > b.model ? 1 : a.effectiveFromMs - b.effectiveFromMs))
    .map(({ model, effectiveFrom, version, source, sheet }) => ({
      model,
      effective_from: effectiveFrom,
      version,
      input: sheet.per_million_tokens.input,
      cached_input: sheet.per_million_tokens.cached_input ?? null,
      output: sheet.per_million_tokens.output,
      source,
    }))
