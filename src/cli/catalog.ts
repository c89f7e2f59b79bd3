import { findWarnings } from '../administration/routing-changes.ts'
import type { Config } from '../config/config.ts'
import { effectiveCatalog } from '../domain/routing/overlay.ts'
import type { Catalog } from '../domain/routing/plan.ts'
import type { CommandContext } from './accounts.ts'
import { printWarnings } from './report.ts'

/** What names lead to: the configuration's word, and the log's over it. */
export interface CatalogParts extends Pick<CommandContext, 'tail'> {
  readonly config: Pick<Config, 'catalog'>
}

/** As it is now. */
export const resolveCatalog = ({ config, tail }: CatalogParts): Catalog =>
  effectiveCatalog(config.catalog, tail.ledger.routing)

/** Tells of names that lead to no model yet. */
export const warnAboutNames = (parts: CatalogParts, names: readonly string[]): void =>
  printWarnings(findWarnings(parts, resolveCatalog(parts), names))
