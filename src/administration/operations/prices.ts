import { type PublishedPrice, priceAt } from '../../domain/pricing/price-book.ts'
import { type PriceFile, problemsOfPriceFile } from '../../domain/pricing/price-file.ts'
import type { PriceChange } from '../../domain/pricing/price-import.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { PricePublished } from '../../events/types.ts'
import { pageOf } from '../../http/page.ts'
import {
  type AdminOperation,
  defineOperation,
  type OperationContext,
  type OperationInput,
  type OperationResult,
} from '../operation.ts'
import { changeRecord, compareImport, publishPrices, selectChanges } from '../price-changes.ts'
import type { ImportPricesRequest } from '../requests.types.ts'

const page = pageOf('prices')

const renderPrice = ({ model, effectiveFrom, version, source, snapshots, sheet, video }: PricePublished) => ({
  object: 'price',
  model,
  effective_from: effectiveFrom,
  version,
  source,
  ...(snapshots === undefined ? {} : { snapshots }),
  ...(sheet === undefined ? {} : { sheet }),
  ...(video === undefined ? {} : { video }),
})

const checkFile = (file: PriceFile): void => {
  const [problem] = problemsOfPriceFile(file)
  if (problem === undefined) return
  const { path, message } = problem
  throw new GatewayError('invalid_value', `Invalid value: '${path}' ${message}.`, { param: path })
}

const countChanges = (changes: readonly PriceChange[]): object => {
  const counts = { added: 0, changed: 0, unchanged: 0, unsupported: 0 }
  for (const { change } of changes) counts[change] += 1
  return counts
}

const renderReference = ({ model, effectiveFrom, version }: PricePublished) => ({
  model,
  effective_from: effectiveFrom,
  version,
})

const importPrices = async (
  context: OperationContext,
  { body }: OperationInput<ImportPricesRequest>,
): Promise<OperationResult> => {
  const { table, dry_run: isDryRun = false, allow_free: allowFree = false, models, source } = body
  const providers = new Set(context.catalog().providers.keys())
  const nowMs = context.clock()
  const effectiveFrom = body.effective_from
  const changes = compareImport(context, { table, providers, allowFree, nowMs, effectiveFrom, source })
  const chosen = selectChanges(changes, models)
  if (chosen.length > 0) checkFile({ prices: chosen })
  const published = isDryRun ? [] : await publishPrices(context, { prices: chosen })
  return {
    changed: published.length > 0,
    body: {
      object: 'price_import',
      dry_run: isDryRun,
      counts: countChanges(changes),
      changes: changes.map(changeRecord),
      published: published.map(renderReference),
    },
  }
}

export const priceOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'price.publish',
    summary: 'Publish rows of a price file; rows that are published already are skipped',
    request: 'price-file.json',
    answer: 'list of price',
    http: { method: 'post', path: '/admin/v1/prices' },
    run: async (context, { body }: OperationInput<PriceFile>) => {
      checkFile(body)
      const published = await publishPrices(context, body)
      const data = published.map(renderPrice)
      return { changed: published.length > 0, body: { object: 'list', data, next_cursor: null } }
    },
  }),
  defineOperation({
    name: 'price.list',
    summary: 'What is in force now, by model',
    query: page.known,
    answer: 'list of price',
    http: { method: 'get', path: '/admin/v1/prices' },
    run: ({ tail, clock }, { query }) => {
      const { prices } = tail.ledger
      const nowMs = clock()
      const inForce = [...prices.keys()].flatMap((model) => priceAt(prices, model, nowMs) ?? [])
      return { body: page.show(inForce, ({ model }) => model, renderPrice, query) }
    },
  }),
  defineOperation({
    name: 'price.import',
    summary: "Compare with LiteLLM's table, and publish what is asked",
    request: 'requests/admin/import-prices.json',
    answer: 'price_import',
    http: { method: 'post', path: '/admin/v1/prices/import' },
    run: importPrices,
  }),
  defineOperation({
    name: 'price.history',
    summary: 'Every sheet of a model',
    answer: 'list of price',
    http: { method: 'get', path: '/admin/v1/prices/*id' },
    run: ({ tail, clock }, { id }) => {
      const { prices } = tail.ledger
      const sheets = prices.get(id)
      if (sheets === undefined) throw new GatewayError('not_found', 'No price of this model was ever published.')
      const inForce = priceAt(prices, id, clock())
      const render = (price: PublishedPrice) => ({ ...renderPrice(price), in_force: price === inForce })
      return { body: { object: 'list', data: sheets.map(render), next_cursor: null } }
    },
  }),
]
