import { isProviderName, readLiteLlm } from '../domain/pricing/litellm.ts'
import { isPublished } from '../domain/pricing/price-book.ts'
import { canonicalPrice, type PriceEntry, type PriceFile } from '../domain/pricing/price-file.ts'
import { diffPrices, type PriceChange } from '../domain/pricing/price-import.ts'
import type { JsonObject } from '../encoding/json.ts'
import { getValidator } from '../encoding/schema-validation.ts'
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
  ...(entry.snapshots === undefined ? {} : { snapshots: [...entry.snapshots] }),
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

const publish = async (context: AdminContext, fresh: readonly PricePublished[]): Promise<readonly PricePublished[]> => {
  await appendGlobalFacts(
    context,
    fresh.map((data) => ({ type: 'PricePublished', data })),
  )
  return fresh
}

/** Skips sheets that are already in force from their instant; returns the new ones. Throws `invalid_value`. */
export const publishPrices = async (context: AdminContext, file: PriceFile): Promise<readonly PricePublished[]> => {
  refuseLong(file)
  const published = file.prices.map(publishedOf)
  return publish(
    context,
    published.filter((price) => !isPublished(context.tail.ledger.prices, price)),
  )
}

interface ImportRequest {
  readonly table: JsonObject
  readonly providers: ReadonlySet<string>
  readonly allowFree: boolean
  readonly nowMs: number
  /** ISO 8601; undefined: now, and for rows of a price file their own. */
  readonly effectiveFrom?: string | undefined
  readonly source?: string | undefined
  readonly remove?: readonly string[] | undefined
}

const invalidTable = (path: string, message: string): GatewayError =>
  new GatewayError('invalid_value', `Invalid value: '${path}' ${message}.`, { param: path })

/** Throws `invalid_value` with the first mistake. */
const readPriceTable = (table: JsonObject, effectiveFrom: string | undefined): PriceFile => {
  const [problem] = getValidator('price-file.json')(table)
  if (problem !== undefined) throw invalidTable(`table.${problem.path}`, problem.message)
  const { prices } = table as unknown as PriceFile
  return {
    prices: prices.map((entry) => ({ ...entry, effective_from: effectiveFrom ?? entry.effective_from })),
  }
}

/** Throws `invalid_value` for what is neither a price file nor LiteLLM's table. */

export const compareImport = (
  { tail }: Pick<AdminContext, 'tail'>,
  { table, providers, allowFree, nowMs, effectiveFrom, source, remove = [] }: ImportRequest,
): readonly PriceChange[] => {
  const now = new Date(nowMs).toISOString()
  const terms = {
    prices: tail.ledger.prices,
    nowMs,
    effectiveFrom: effectiveFrom ?? now,
    source: source ?? `LiteLLM, model_prices_and_context_window.json, imported ${now}`,
    remove,
  }
  if (Array.isArray(table['prices'])) return diffPrices(readPriceTable(table, effectiveFrom), terms)
  if (!Object.values(table).some(isProviderName))
    throw invalidTable(
      'table',
      "is no table of prices: it needs rows of LiteLLM's table, each with its `litellm_provider`, or the `prices` of a price file",
    )
  return diffPrices(readLiteLlm(table, { providers, allowFree }), terms)
}

/** The named rows; undefined: all that were added or changed. Throws `invalid_value` for what cannot be published. */
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

/** Publishes only what the log has never had: a start must not revert a later correction. */
export const publishUnknownPrices = (
  context: AdminContext,
  { prices }: PriceFile,
): Promise<readonly PricePublished[]> => {
  const known = (price: PricePublished): boolean =>
    (context.tail.ledger.prices.get(price.model) ?? []).some(({ version }) => version === price.version)
  return publish(
    context,
    prices.map(publishedOf).filter((price) => !known(price)),
  )
}

export const changeRecord = ({ change, name, model, differences, leftOut, kept, entry }: PriceChange) => ({
  change,
  name,
  model,
  differences,
  left_out: leftOut,
  kept: [...kept],
  ...(entry?.sheet === undefined ? {} : { sheet: entry.sheet }),
})
