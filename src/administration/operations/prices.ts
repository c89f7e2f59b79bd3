import { isProviderName } from '../../domain/pricing/litellm.ts'
import { type PriceBook, type PublishedPrice, priceAt } from '../../domain/pricing/price-book.ts'
import { type PriceFile, problemsOfPriceFile } from '../../domain/pricing/price-file.ts'
import type { PriceChange } from '../../domain/pricing/price-import.ts'
import { GatewayError, truncateName } from '../../errors/gateway-error.ts'
import type { PricePublished, PriceSheet, VideoSheet } from '../../events/types.ts'
import { pageOf } from '../../http/page.ts'
import {
  type AdminOperation,
  type CommandDescription,
  defineOperation,
  type OperationContext,
  type OperationInput,
  type OperationResult,
} from '../operation.ts'
import { changeRecord, compareImport, publishPrices, selectChanges } from '../price-changes.ts'
import type { ImportPricesRequest } from '../requests.types.ts'
import type { PriceImportResponse, PriceResponse } from '../responses.types.ts'

const page = pageOf('prices')

const renderReference = ({ model, effectiveFrom, version }: PricePublished) => ({
  model,
  effective_from: effectiveFrom,
  version,
})

const renderTerms = ({ source, snapshots, sheet, video }: PricePublished) => ({
  source,
  ...(snapshots === undefined ? {} : { snapshots }),
  ...(sheet === undefined ? {} : { sheet }),
  ...(video === undefined ? {} : { video }),
})

const renderPrice = (price: PricePublished): PriceResponse => ({
  object: 'price',
  ...renderReference(price),
  ...renderTerms(price),
})

const checkFile = (file: PriceFile): void => {
  const [problem] = problemsOfPriceFile(file)
  if (problem === undefined) return
  const { path, message } = problem
  throw new GatewayError('invalid_value', `Invalid value: '${path}' ${message}.`, { param: path })
}

const countChanges = (changes: readonly PriceChange[]): PriceImportResponse['counts'] => {
  const counts = { added: 0, changed: 0, unchanged: 0, unsupported: 0 }
  for (const { change } of changes) counts[change] += 1
  return counts
}

const importPrices = async (
  context: OperationContext,
  { body }: OperationInput<ImportPricesRequest>,
): Promise<OperationResult> => {
  const { table, dry_run: isDryRun = false, allow_free: allowFree = false, models, source, remove } = body
  const providers = new Set(context.catalog().providers.keys())
  const nowMs = context.clock()
  const effectiveFrom = body.effective_from
  const changes = compareImport(context, { table, providers, allowFree, nowMs, effectiveFrom, source, remove })
  const chosen = selectChanges(changes, models)
  if (!isDryRun && chosen.length > 0) checkFile({ prices: chosen })
  const published = isDryRun ? [] : await publishPrices(context, { prices: chosen })
  return {
    changed: published.length > 0,
    body: {
      object: 'price_import',
      dry_run: isDryRun,
      counts: countChanges(changes),
      changes: changes.map(changeRecord),
      published: published.map(renderReference),
    } satisfies PriceImportResponse,
  }
}

interface DatedPrice {
  readonly price: PublishedPrice
  readonly inForce: boolean
}

const requireSheets = (prices: PriceBook, model: string): readonly PublishedPrice[] => {
  const sheets = prices.get(model)
  if (sheets === undefined)
    throw new GatewayError('not_found', `There is no price of ${truncateName(model)}: none was ever published.`)
  return sheets
}

/** Every sheet by model and instant, of one model or, where it is empty, of all. */
const listPrices = ({ tail, clock }: OperationContext, model: string): readonly DatedPrice[] => {
  const { prices } = tail.ledger
  const nowMs = clock()
  return (model === '' ? [...prices.values()].flat() : requireSheets(prices, model))
    .toSorted((a, b) => (a.model < b.model ? -1 : a.model > b.model ? 1 : a.effectiveFromMs - b.effectiveFromMs))
    .map((price) => ({ price, inForce: priceAt(prices, price.model, nowMs) === price }))
}

const priceInFull = ({ price, inForce }: DatedPrice) => ({
  ...renderReference(price),
  in_force: inForce,
  ...renderTerms(price),
})

const listRates = (rates: Readonly<Record<string, string>>): string =>
  Object.entries(rates)
    .map(([item, rate]) => `${item}=${rate}`)
    .join(' ')

const videoInShort = ({ unit_price, units_per_second }: VideoSheet) => ({
  unit: unit_price,
  units_per_second: listRates(units_per_second),
})

/** More would make the line too long to read. */
const perCallShownMax = 4

const perCallInShort = (rates: Readonly<Record<string, string>>): string => {
  const count = Object.keys(rates).length
  return count > perCallShownMax ? `${count} rates` : listRates(rates)
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

const priceInShort = ({ price, inForce }: DatedPrice) => ({
  model: price.model,
  effective_from: price.effectiveFrom,
  in_force: inForce ? 'yes' : '',
  ...(price.sheet === undefined ? {} : tokensInShort(price.sheet)),
  ...(price.video === undefined ? {} : videoInShort(price.video)),
  version: price.version,
})

/** One line per tool, USD per call; empty where the short form has them all. */
const perCallRecords = ({ price }: DatedPrice) => {
  const rates = Object.entries(price.sheet?.per_call ?? {})
  return rates.length > perCallShownMax ? rates.map(([per_call, usd]) => ({ per_call, usd })) : []
}

type ChangeRecord = ReturnType<typeof changeRecord>

const joined = <T>(items: readonly T[], text: (item: T) => string): string => items.map(text).join('; ')

const changeInShort = ({ change, name, model, differences, left_out, kept }: ChangeRecord) => ({
  change,
  model: model ?? name,
  differences:
    change === 'added' ? '' : joined(differences, ({ item, from, to }) => `${item} ${from ?? '-'} -> ${to ?? '-'}`),
  left_out: joined(left_out, ({ field, reason }) => `${field} ${reason}`),
  kept: joined(kept, ({ item, rate }) => `${item} ${rate}`),
})

type ImportCommand = Pick<ImportPricesRequest, 'table' | 'dry_run'>
type ImportResult = { readonly changes: readonly ChangeRecord[]; readonly published: readonly object[] }

/** Without the rows of unconfigured providers; other rows without a model are always shown. */
const shownChanges = ({ changes }: ImportResult, { table }: ImportCommand, all: boolean): readonly ChangeRecord[] =>
  changes.filter(({ model, name }) => all || model !== null || !isProviderName(table[name]))

const importCommand: CommandDescription = {
  words: 'prices import',
  summary: 'compare another table of prices with those in force, print every difference, and publish the chosen ones',
  arguments: { table: '<file>' },
  allOption: 'Also show what is of providers that are not configured.',
  members: {
    format: { default: 'litellm', description: 'Whose table it is.' },
    dry_run: { description: 'Publish nothing.' },
    allow_free: { description: 'Take rows whose input and output cost nothing for prices.' },
    table: { file: 'litellm-table', description: 'model_prices_and_context_window.json of LiteLLM, or a price file.' },
    models: { flags: '--model <models...>', parse: (text) => text },
    remove: { flags: '--remove <rates...>', parse: (text) => text },
    effective_from: { flags: '--from <instant>' },
  },
  records: (_context, { body }, result, { json, all }) => {
    const shown = shownChanges(result as ImportResult, body as ImportCommand, all)
    return json ? shown : shown.map(changeInShort)
  },
  notes: (result, { body }, { all }) => {
    const { changes, published } = result as ImportResult
    const hidden = changes.length - shownChanges(result as ImportResult, body as ImportCommand, all).length
    return [
      ...(hidden === 0 ? [] : [`${hidden} of providers that are not configured are not shown: see --all`]),
      ...(body['dry_run'] === true ? [] : [`${published.length} published`]),
    ]
  },
}

type PublishedList = readonly ReturnType<typeof renderPrice>[]

export const priceOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'price.publish',
    summary: 'Publish rows of a price file; rows that are published already are skipped',
    request: 'price-file.json',
    answer: 'list of price',
    http: { method: 'post', path: '/admin/v1/prices' },
    permission: 'configure',
    cli: {
      words: 'prices publish',
      arguments: { prices: '[file]' },
      members: { prices: { file: 'price-file', description: 'Default: the configured one.' } },
      current: ({ prices }) => ({ ...prices }),
      records: (_context, _input, { data }) =>
        (data as PublishedList).map(({ model, effective_from, version }) => ({ model, effective_from, version })),
      notes: ({ data }) => [`${(data as PublishedList).length} published`],
    },
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
    permission: 'read',
    cli: {
      words: 'prices show',
      summary: 'every sheet, by model and instant; USD per million tokens, and per call of a tool; whole with --json',
      arguments: { id: '[model]' },
      records: (context, { id }, _body, { json }) => {
        const prices = listPrices(context, id)
        return json ? prices.map(priceInFull) : prices.map(priceInShort)
      },
      details: (context, { id }) =>
        id === ''
          ? []
          : listPrices(context, id)
              .filter(({ inForce }) => inForce)
              .flatMap(perCallRecords),
    },
    run: ({ tail, clock }, { query }) => {
      const { prices } = tail.ledger
      const nowMs = clock()
      const inForce = [...prices.keys()].flatMap((model) => priceAt(prices, model, nowMs) ?? [])
      return { body: page.show(inForce, ({ model }) => model, renderPrice, query) }
    },
  }),
  defineOperation({
    name: 'price.import',
    summary: "Compare LiteLLM's table or a price file with the prices in force, and publish what is chosen",
    request: 'requests/admin/import-prices.json',
    answer: 'price_import',
    http: { method: 'post', path: '/admin/v1/prices/import' },
    permission: 'configure',
    cli: importCommand,
    run: importPrices,
  }),
  defineOperation({
    name: 'price.history',
    summary: 'Every sheet of a model',
    answer: 'list of price',
    http: { method: 'get', path: '/admin/v1/prices/*id' },
    permission: 'read',
    run: ({ tail, clock }, { id }) => {
      const { prices } = tail.ledger
      const sheets = requireSheets(prices, id)
      const inForce = priceAt(prices, id, clock())
      const render = (price: PublishedPrice) => ({ ...renderPrice(price), in_force: price === inForce })
      return { body: { object: 'list', data: sheets.map(render), next_cursor: null } }
    },
  }),
]
