import { changeRecord, compareImport, publishPrices, selectChanges } from '../../../../administration/price-changes.ts'
import { type PublishedPrice, priceAt } from '../../../../domain/pricing/price-book.ts'
import { type PriceFile, problemsOfPriceFile } from '../../../../domain/pricing/price-file.ts'
import type { PriceChange } from '../../../../domain/pricing/price-import.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { PricePublished } from '../../../../events/types.ts'
import { readQuery } from '../ledger/query.ts'
import { pageOf } from './page.ts'
import type { ImportPricesRequest } from './requests.types.ts'
import type { AdminCall, AdminParts, AdminResult } from './route.ts'

const page = pageOf('prices')

export const { known } = page

const shownPrice = ({ model, effectiveFrom, version, source, sheet, video }: PricePublished) => ({
  object: 'price',
  model,
  effective_from: effectiveFrom,
  version,
  source,
  ...(sheet === undefined ? {} : { sheet }),
  ...(video === undefined ? {} : { video }),
})

const checkFile = (file: PriceFile): void => {
  const [problem] = problemsOfPriceFile(file)
  if (problem === undefined) return
  const { path, message } = problem
  throw new GatewayError('invalid_value', `Invalid value: '${path}' ${message}.`, { param: path })
}

export const postPrices = async ({ books, body }: AdminCall<PriceFile>): Promise<AdminResult> => {
  checkFile(body)
  const published = await publishPrices(books, body)
  return {
    status: published.length > 0 ? 201 : 200,
    body: { object: 'list', data: published.map(shownPrice), next_cursor: null },
  }
}

export const showPrices = ({ ctx, books }: AdminCall<undefined>, { clock }: AdminParts): AdminResult => {
  const { prices } = books.tail.ledger
  const nowMs = clock()
  const inForce = [...prices.keys()].flatMap((model) => priceAt(prices, model, nowMs) ?? [])
  return { body: page.show(inForce, ({ model }) => model, shownPrice, readQuery(ctx, known)) }
}

export const listPriceHistory = ({ books, id }: AdminCall<undefined>, { clock }: AdminParts): AdminResult => {
  const { prices } = books.tail.ledger
  const sheets = prices.get(id)
  if (sheets === undefined) throw new GatewayError('not_found', 'No price of this model was ever published.')
  const inForce = priceAt(prices, id, clock())
  const shown = (price: PublishedPrice) => ({ ...shownPrice(price), in_force: price === inForce })
  return { body: { object: 'list', data: sheets.map(shown), next_cursor: null } }
}

const countsOf = (changes: readonly PriceChange[]): object => {
  const counts = { added: 0, changed: 0, unchanged: 0, unsupported: 0 }
  for (const { change } of changes) counts[change] += 1
  return counts
}

/** Reports what another price table would change, and publishes it on request. */
export const postPriceImport = async (
  { books, body }: AdminCall<ImportPricesRequest>,
  { catalog, clock }: AdminParts,
): Promise<AdminResult> => {
  const { table, dry_run: isDryRun = false, models, effective_from: effectiveFrom, source } = body
  const providers = new Set(catalog().providers.keys())
  const changes = compareImport(books, { table, providers, nowMs: clock(), effectiveFrom, source })
  const chosen = selectChanges(changes, models)
  if (chosen.length > 0) checkFile({ prices: chosen })
  const published = isDryRun ? [] : await publishPrices(books, { prices: chosen })
  return {
    status: published.length > 0 ? 201 : 200,
    body: {
      object: 'price_import',
      dry_run: isDryRun,
      counts: countsOf(changes),
      changes: changes.map(changeRecord),
      published: published.map(({ model, effectiveFrom, version }) => ({
        model,
        effective_from: effectiveFrom,
        version,
      })),
    },
  }
}
