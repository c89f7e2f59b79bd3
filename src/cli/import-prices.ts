import { readFileSync } from 'node:fs'
import { changeRecord, compareImport, publishPrices, selectChanges } from '../administration/price-changes.ts'
import { isProviderName } from '../domain/pricing/litellm.ts'
import { problemsOfPriceFile } from '../domain/pricing/price-file.ts'
import type { PriceChange } from '../domain/pricing/price-import.ts'
import { isObject, type JsonObject, parseJson } from '../encoding/json.ts'
import type { CommandSession } from './register.ts'
import { CommandError, printRecords, UsageError } from './report.ts'

export interface ImportOptions {
  readonly dryRun: boolean
  readonly allowFree: boolean
  /** Undefined: all that were added or changed. */
  readonly model?: readonly string[]
  /** Undefined: now. */
  readonly from?: Date
  readonly all: boolean
  readonly json: boolean
}

const readText = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`${file} cannot be read`, { cause })
  }
}

/** Throws UsageError where the file holds no object of JSON, or none of its members is a price. */
export const readTable = (file: string): JsonObject => {
  const table = parseJson(readText(file))
  if (!isObject(table)) throw new UsageError(`${file} is no JSON object, as LiteLLM's table is`)
  if (!Object.values(table).some(isProviderName))
    throw new UsageError(
      `${file} holds no price: no member of it names its litellm_provider, as rows of LiteLLM's table do`,
    )
  return table
}

const listed = <T>(items: readonly T[], text: (item: T) => string): string => items.map(text).join('; ')

const changeInShort = ({ change, name, model, differences, leftOut }: PriceChange) => ({
  change,
  model: model ?? name,
  differences:
    change === 'added' ? '' : listed(differences, ({ item, from, to }) => `${item} ${from ?? '-'} -> ${to ?? '-'}`),
  left_out: listed(leftOut, ({ field, reason }) => `${field} ${reason}`),
})

/** Of an unconfigured provider; other rows without a model are always reported. */
const isUnconfigured = ({ model, name }: PriceChange, table: JsonObject): boolean =>
  model === null && isProviderName(table[name])

/** Compares LiteLLM's table with the prices in force, prints every difference, and publishes the chosen ones. */
export const importPrices = async (
  session: CommandSession,
  table: JsonObject,
  options: ImportOptions,
): Promise<void> => {
  const { dryRun, allowFree, model: models, from, all, json } = options
  const providers = new Set(session.config.catalog.providers.keys())
  const changes = compareImport(session, {
    table,
    providers,
    allowFree,
    nowMs: session.runtime.clock(),
    effectiveFrom: from?.toISOString(),
  })
  const shown = all ? changes : changes.filter((each) => !isUnconfigured(each, table))
  printRecords(json ? shown.map(changeRecord) : shown.map(changeInShort), { json })
  if (shown.length < changes.length)
    console.error(`${changes.length - shown.length} of providers that are not configured are not shown: see --all`)
  if (dryRun) return
  const prices = selectChanges(changes, models)
  const [problem] = problemsOfPriceFile({ prices })
  if (problem !== undefined) throw new CommandError(`${problem.path} ${problem.message}`)
  const published = await publishPrices(session, { prices })
  console.error(`${published.length} published`)
}
