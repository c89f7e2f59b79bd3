import type { ServedWith } from '../../domain/pricing/charge.ts'

const standardTiers: ReadonlySet<string> = new Set(['default', 'standard', 'standard_only', 'auto', 'on_demand'])
const noRegion: ReadonlySet<string> = new Set(['global', 'not_available'])
const nameCharactersMax = 32

/** As a name in an event and in a price sheet; null where it is no text, or begins with no letter. */
const nameOf = (reported: unknown): string | null => {
  if (typeof reported !== 'string') return null
  const name = reported
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]/g, '_')
    .slice(0, nameCharactersMax)
  return /^[a-z]/.test(name) ? name : null
}

/** Google's `trafficType` begins with `ON_DEMAND_`. */
const tierOf = (reported: unknown): string | null => {
  const name = nameOf(reported)?.replace(/^on_demand_(?=[a-z])/, '') ?? null
  return name === null || standardTiers.has(name) ? null : name
}

const regionOf = (reported: unknown): string | null => {
  const name = nameOf(reported)
  return name === null || noRegion.has(name) ? null : name
}

/** As an answer reports them; nothing for the standard ones, and where none is reported. */
export const readServedWith = (reportedTier: unknown, reportedRegion?: unknown): ServedWith => {
  const [serviceTier, inferenceGeo] = [tierOf(reportedTier), regionOf(reportedRegion)]
  return { ...(serviceTier === null ? {} : { serviceTier }), ...(inferenceGeo === null ? {} : { inferenceGeo }) }
}
