import { parseUsd } from '../domain/money.ts'
import { type PriceBook, type PublishedPrice, priceAt } from '../domain/pricing/price-book.ts'
import type { Catalog } from '../domain/routing/plan.ts'
import type { UnitPrice } from './decompose.ts'
import { noonMs } from './invoices/days.ts'
import { computeUnitPicos } from './invoices/items.ts'
import { unitParts, videoItem } from './invoices/row.ts'

export interface ModelNames {
  /** The one name for a model and its snapshots; a snapshot with its own price is a model of its own. */
  canonical(invoiceName: string): string
  /** The same for a public model id of this provider. */
  canonicalOfPublic(model: string): string
  isKnown(canonical: string): boolean
  /** Null if no sheet has it. */
  findPrice(canonical: string, item: string, day: string): UnitPrice | null
}

const snapshotPattern = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/

interface ModelNamesParts {
  readonly provider: string
  readonly catalog: Pick<Catalog, 'providers'>
  readonly prices: PriceBook
  /** The model that a name on the invoice means, as the provider or the gateway calls it. */
  readonly modelAliases?: ReadonlyMap<string, string>
}

const priceIn = ({ sheet, video }: PublishedPrice, item: string): UnitPrice | null => {
  if (sheet !== undefined) return { picos: computeUnitPicos(sheet, item), per: 1n }
  return video !== undefined && item === videoItem ? { picos: parseUsd(video.unit_price), per: unitParts } : null
}

export const createModelNames = ({
  provider,
  catalog,
  prices,
  modelAliases = new Map(),
}: ModelNamesParts): ModelNames => {
  const renamed = catalog.providers.get(provider)?.models ?? {}
  const prefix = `${provider}/`
  const withoutSnapshot = (name: string): string =>
    prices.has(prefix + name) ? name : name.replace(snapshotPattern, '')
  const canonicalOfPublic = (model: string): string => {
    const name = model.startsWith(prefix) ? model.slice(prefix.length) : model
    return withoutSnapshot(Object.hasOwn(renamed, name) ? renamed[name]! : name)
  }
  const canonical = (name: string): string => {
    const model = modelAliases.get(name) ?? name
    return model.startsWith(prefix) ? canonicalOfPublic(model) : withoutSnapshot(model)
  }
  const publicIds = new Map<string, string>()
  for (const name of Object.keys(renamed)) publicIds.set(canonicalOfPublic(prefix + name), prefix + name)
  for (const model of prices.keys()) if (model.startsWith(prefix)) publicIds.set(canonicalOfPublic(model), model)
  return {
    canonical,
    canonicalOfPublic,
    isKnown: (name) => publicIds.has(name),
    findPrice: (name, item, day) => {
      const price = priceAt(prices, publicIds.get(name) ?? prefix + name, noonMs(day))
      return price === undefined ? null : priceIn(price, item)
    },
  }
}
