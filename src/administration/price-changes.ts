import { readLiteLlm } from '../domain/pricing/litellm.ts'
import { isPublished } from '../domain/pricing/price-book.ts'
import { canonicalPrice, type PriceEntry, type PriceFile } from '../domain/pricing/price-file.ts'
import { diffPrices, type PriceChange } from '../domain/pricing/price-import.ts'
import type { JsonObject } from '../encoding/json.ts'
import { GatewayError, truncateName } from '../errors/gateway-error.ts'
import type { PricePublished } from '../events/types.ts'
import { sha256Hex } from './account-changes.ts'
import { type AdminContext, appendGlobalFacts } from './admin-context.ts'
import { administrationLimits } from './limits.ts'

const versionLength = 16

const publishedOf = (entry: PriceEntry): PricePublished => ({
  model: entry.model,
  version: sha256Hex(canonicalPrice(entry)).slice(0, versionLength),
  effectiveFrom: entry.effective_from,
  source: entry.source,
  ...(entry.sheet === undefined ? {} : { sheet: entry.sheet }),
  ...(entry.video === undefined ? {} : { video: entry.video }),
})

const refuseLong = ({ prices }: PriceFile): void => {
  const index = prices.findIndex(
    (entry) => Buffer.byteLength(canonicalPrice(entry)) > administrationLimits.priceEntryBytesMax,
  )
  if (index < 0) return
  const message = `prices[${index}] is larger than ${administrationLimits.priceEntryBytesMax} bytes.`
  throw new GatewayError('invalid_value', message, { param: `prices[${index}]` })
}

const publish = async (books: AdminContext, fresh: readonly PricePublished[]): Promise<readonly PricePublished[]> => {
  await appendGlobalFacts(
    books,
    fresh.map((data) => ({ type: 'PricePublished', data })),
  )
  return fresh
}

/** Publishes the sheets that are not in force from their instant already; answers with those that were new. Throws `invalid_value`. */
export const publishPrices = async (books: AdminContext, file: PriceFile): Promise<readonly PricePublished[]> => {
  refuseLong(file)
  const published = file.prices.map(publishedOf)
  return publish(
    books,
    published.filter((price) => !isPublished(books.tail.ledger.prices, price)),
  )
}

export interface ImportRequest {
  /** LiteLLM's table, parsed. */
  readonly table: JsonObject
  /** Those that are configured here. */
  readonly providers: ReadonlySet<string>
  readonly nowMs: number
  /** ISO 8601; undefined: now. */
  readonly effectiveFrom?: string | undefined
  readonly source?: string | undefined
}

/** What importing the table would change. */
export const compareImport = (
  { tail }: Pick<AdminContext, 'tail'>,
  { table, providers, nowMs, effectiveFrom, source }: ImportRequest,
): readonly PriceChange[] => {
  const now = new Date(nowMs).toISOString()
  return diffPrices(readLiteLlm(table, providers), {
    prices: tail.ledger.prices,
    nowMs,
    effectiveFrom: effectiveFrom ?? now,
    source: source ?? `LiteLLM, model_prices_and_context_window.json, imported ${now}`,
  })
}

/** The rows that are asked for; undefined: all that were added or changed. Throws `invalid_value` for what cannot be published. */
export const selectChanges = (
  changes: readonly PriceChange[],
  models: readonly string[] | undefined,
): readonly PriceEntry[] => {
  const wanted = models === undefined ? undefined : new Set(models)
  for (const [index, model] of (models ?? []).entries())
    if (!changes.some((each) => each.model === model && each.change !== 'unsupported'))
      throw new GatewayError(
        'invalid_value',
        `The table has no price of \`${truncateName(model)}\` that can be published.`,
        {
          param: `models[${index}]`,
        },
      )
  return changes.flatMap(({ entry }) => (entry !== null && (wanted?.has(entry.model) ?? true) ? [entry] : []))
}

/** Publishes what the log has never had: a start does not take a later correction back. */
export const publishUnknownPrices = (
  books: AdminContext,
  { prices }: PriceFile,
): Promise<readonly PricePublished[]> => {
  const known = (price: PricePublished): boolean =>
    (books.tail.ledger.prices.get(price.model) ?? []).some(({ version }) => version === price.version)
  return publish(
    books,
    prices.map(publishedOf).filter((price) => !known(price)),
  )
}

/** A row of another table as it is shown whole. */
export const changeRecord = ({ change, name, model, differences, leftOut, entry }: PriceChange) => ({
  change,
  name,
  model,
  differences,
  left_out: leftOut,
  ...(entry?.sheet === undefined ? {} : { sheet: entry.sheet }),
})
