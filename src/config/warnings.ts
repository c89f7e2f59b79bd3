import type { PriceFile } from '../domain/pricing/price-file.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { ConfigProblem } from './config-error.ts'
import type { ConfigFile } from './config-file.types.ts'
import { entryOfDeployment, entryOfProvider } from './deployments.ts'
import { mebibyte } from './units.ts'

type Entry = NonNullable<ConfigFile['providers']>[string]
type PriceRow = PriceFile['prices'][number]

/** As the sources of price rows begin, and the addresses whose prices these are. */
const regionsOfPrices = [
  { dialect: 'vertex', source: 'The global endpoint', location: /\/locations\/([a-z0-9-]+)/, priced: /^global$/ },
  { dialect: 'bedrock', source: 'US East', location: /bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./, priced: /^us-east-/ },
] as const

const profilePattern = /^(?:converse\/|anthropic\/)?(us|eu|apac|jp|au|ca|global)\.[a-z]/

const profileOf = (name: string): string | undefined => profilePattern.exec(name)?.[1]

const addressesOf = (path: string, entry: Entry): readonly (readonly [path: string, entry: Entry])[] =>
  entry.deployments === undefined
    ? [[path, entryOfProvider(entry)]]
    : entry.deployments.map((each, place) => [`${path}.deployments[${place}]`, entryOfDeployment(entry, each)])

const problemsOfAddress = (path: string, entry: Entry, rows: readonly PriceRow[]): readonly ConfigProblem[] =>
  regionsOfPrices.flatMap(({ dialect, source, location, priced }) => {
    const [, found] = location.exec(entry.base_url ?? '') ?? []
    const of = rows.filter((row) => row.source.startsWith(source))
    if (entry.dialect !== dialect || found === undefined || priced.test(found) || of.length === 0) return []
    const figures = `${of.length} prices of the price file, such as that of ${of[0]?.model}`
    const message = `is in ${found}, and ${figures}, are of elsewhere (${source}): publish the region's own, or name the provider otherwise`
    return [{ path: `${path}.base_url`, message }]
  })

/** An inference profile under the name, and so at the price, of another one. */
const problemsOfProfiles = (path: string, { dialect, models = {} }: Entry): readonly ConfigProblem[] =>
  Object.entries(dialect === 'bedrock' ? models : {}).flatMap(([name, upstream]) => {
    const [named, called] = [profileOf(name), profileOf(upstream)]
    if (named === undefined || called === undefined || named === called) return []
    return [{ path: `${path}.models.${name}`, message: `has the price of ${name}, and calls ${upstream}` }]
  })

const findForeignPrices = ({ providers = {} }: ConfigFile, { prices }: PriceFile): readonly ConfigProblem[] =>
  Object.entries(providers).flatMap(([name, entry]) => {
    const rows = prices.filter(({ model }) => model.startsWith(`${name}/`))
    const path = `providers.${name}`
    return [
      ...addressesOf(path, entry).flatMap(([place, address]) => problemsOfAddress(place, address, rows)),
      ...problemsOfProfiles(path, entry),
    ]
  })

/** A workspace leaves as much for the others as it has: a bound above half is never reached. */
const findUnreachedBounds = ({ limits = {} }: ConfigFile): readonly ConfigProblem[] => {
  const { open_megabytes: all = sharedLimits.openBytesMax / mebibyte, workspace_open_megabytes: own = 0 } = limits
  const message = `is more than half of the ${all} MiB of all workspaces (limits.open_megabytes), and acts as half`
  return 2 * own <= all ? [] : [{ path: 'limits.workspace_open_megabytes', message }]
}

export const findConfigWarnings = (file: ConfigFile, prices: PriceFile): readonly ConfigProblem[] => [
  ...findUnreachedBounds(file),
  ...findForeignPrices(file, prices),
]
