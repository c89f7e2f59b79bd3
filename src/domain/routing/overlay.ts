import type { FactOf } from '../../events/envelope.ts'
import type { Catalog, RouterRule } from './plan.ts'

export interface RoutingOverlay {
  readonly aliases: ReadonlyMap<string, string>
  readonly routers: ReadonlyMap<string, RouterRule>
}

export const initialOverlay: RoutingOverlay = { aliases: new Map(), routers: new Map() }

export type RoutingFact = FactOf<'AliasSet' | 'RouterSet'>

const withEntry = <T>(entries: ReadonlyMap<string, T>, name: string, value: T | null): ReadonlyMap<string, T> => {
  const changed = new Map(entries)
  if (value === null) changed.delete(name)
  else changed.set(name, value)
  return changed
}

/** A new object, so that caches derived from the previous one are invalidated. */
export const applyToOverlay = (overlay: RoutingOverlay, fact: RoutingFact): RoutingOverlay => {
  switch (fact.type) {
    case 'AliasSet':
      return { ...overlay, aliases: withEntry(overlay.aliases, fact.data.alias, fact.data.model) }
    case 'RouterSet': {
      const { router, candidates, order } = fact.data
      return { ...overlay, routers: withEntry(overlay.routers, router, candidates && { candidates, order }) }
    }
  }
}

export const effectiveCatalog = (configured: Catalog, { aliases, routers }: RoutingOverlay): Catalog => ({
  ...configured,
  aliases: { ...configured.aliases, ...Object.fromEntries(aliases) },
  routers: { ...configured.routers, ...Object.fromEntries(routers) },
})

export const liveCatalog = (
  findConfigured: () => Catalog,
  ledger: { readonly routing: RoutingOverlay },
): (() => Catalog) => {
  let overlay = ledger.routing
  let configured = findConfigured()
  let catalog = effectiveCatalog(configured, overlay)
  return () => {
    if (overlay !== ledger.routing || configured !== findConfigured()) {
      overlay = ledger.routing
      configured = findConfigured()
      catalog = effectiveCatalog(configured, overlay)
    }
    return catalog
  }
}
