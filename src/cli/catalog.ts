import { findWarnings } from '../administration/routing-changes.ts'
import type { Config } from '../config/config.ts'
import { effectiveCatalog } from '../domain/routing/overlay.ts'
import type { Catalog } from '../domain/routing/plan.ts'
import type { CommandContext } from './command-context.ts'
import { printWarnings } from './report.ts'

export interface CatalogParts extends Pick<CommandContext, 'tail'> {
  readonly config: Pick<Config, 'catalog'>
}

/** The configured names, overridden by those in the log. */
export const resolveCatalog = ({ config, tail }: CatalogParts): Catalog =>
  effectiveCatalog(config.catalog, tail.ledger.routing)

export const warnAboutNames = (parts: CatalogParts, names: readonly string[]): void =>
  printWarnings(findWarnings(parts, resolveCatalog(parts), names))
