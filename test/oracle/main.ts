/**
 * `make oracle`: usages in the shapes of the providers, whole and streamed, charged through our readers and the sheets
 * that are imported from LiteLLM's table, against LiteLLM's calculator and genai-prices on the same table. Exits with 1
 * where a difference has no cause in `differences.ts`, or a cause applies and makes no difference. Calls of tools that
 * neither prices are compared with the published prices of `prices.json`, and its prices of clouds with the table.
 *
 * ORACLE_USAGES (40000), ORACLE_SEED (1).
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { formatUsd } from '../../src/domain/money.ts'
import { serviceRatesOf } from '../../src/domain/pricing/charge.ts'
import { readLiteLlm } from '../../src/domain/pricing/litellm.ts'
import type { PriceFile } from '../../src/domain/pricing/price-file.ts'
import { asObject, type JsonObject } from '../../src/encoding/json.ts'
import type { PriceSheet } from '../../src/events/types.ts'
import { chargeCase, wholeAnswer } from './charges.ts'
import { compareClouds } from './clouds.ts'
import { type Answered, agreesWithPublished, type Calculator, compareCharge, reasons } from './differences.ts'
import { type Calculators, installCalculators } from './install.ts'
import { recordedUsages } from './recorded.ts'
import { createCase, createDraws, type OracleCase, type OracleModel } from './usages.ts'

const count = Number(process.env['ORACLE_USAGES'] ?? 40_000)
const seed = Number(process.env['ORACLE_SEED'] ?? 1)
const calculators: readonly Calculator[] = ['litellm', 'genai']
const providers = new Set(['openai', 'anthropic', 'google', 'xai', 'azure', 'vertex', 'bedrock'])
const outputBytesMax = 256 * 1024 * 1024

const readJson = (path: string | URL) => JSON.parse(readFileSync(path, 'utf8'))

const searchUsdOf = ({ search_context_cost_per_query: prices }: JsonObject): string | null => {
  const price = asObject(prices)['search_context_size_medium']
  return typeof price === 'number' ? String(price) : null
}

type Published = Readonly<Record<string, Readonly<Record<string, string>>>>

/** USD of a call of a tool, by provider: as `prices.json` has them, which is where LiteLLM's table has none. */
const readPublished = (): Published => {
  const { prices }: PriceFile = readJson(new URL('../../prices.json', import.meta.url))
  const callsOf = (model: string): Readonly<Record<string, string>> =>
    prices.findLast((row) => row.model === model)?.sheet?.per_call ?? {}
  return { openai: callsOf('openai/gpt-5'), xai: callsOf('grok/grok-4.3') }
}
const published = readPublished()
const publishedTools = ['file_search', 'code_interpreter', 'x_search', 'document_search']

const withPublishedCalls = (sheet: PriceSheet, provider: string): PriceSheet => {
  const calls = Object.entries(published[provider] ?? {}).filter(([tool]) => publishedTools.includes(tool))
  return calls.length === 0 ? sheet : { ...sheet, per_call: { ...sheet.per_call, ...Object.fromEntries(calls) } }
}

const providerOf = (model: string): OracleModel['provider'] =>
  model.slice(0, model.indexOf('/')) as OracleModel['provider']

/** Prices in one region, under names that no cloud knows, and of publishers at Vertex AI that are not served. */
const foreignRow = /^(?:azure|bedrock)\/[\w-]+\/|^vertex_ai\/(?!claude|gemini)/

/** Without those that embed, whose usages are others. */
const modelsOf = (table: JsonObject): readonly OracleModel[] =>
  readLiteLlm(table, { providers, allowFree: false }).flatMap((row) =>
    'sheet' in row && row.sheet.max_output_tokens > 0 && !foreignRow.test(row.name)
      ? [
          {
            name: row.name,
            provider: providerOf(row.model),
            sheet: withPublishedCalls(row.sheet, providerOf(row.model)),
            // LiteLLM charges by the row of the other name.
            searchUsd: Object.hasOwn(table, `gemini/${row.name}`) ? null : searchUsdOf(asObject(table[row.name])),
            searchesByQuery: asObject(table[row.name])['web_search_billing_unit'] === 'per_query',
          },
        ]
      : [],
  )

const recordedCases = (models: readonly OracleModel[]): readonly OracleCase[] =>
  recordedUsages.map(({ model: name, flavor, usage }) => {
    const model = models.find((each) => each.name === name)
    if (model === undefined) throw new Error(`the table has no row ${name} that can be imported`)
    return { model, flavor, usage, tier: null, searches: 0, calls: {} }
  })

/** genai-prices wants a rate for each kind of token; the sheet's own rule gives it. */
const completeRates = ({ model: { sheet }, tier }: OracleCase) => {
  const { per_million_tokens, tiers = [] } = serviceRatesOf(sheet, tier === null ? {} : { serviceTier: tier })
  const complete = (rates: typeof per_million_tokens) => ({
    ...rates,
    ...(rates.audio_input === undefined || rates.cached_input === undefined
      ? {}
      : { cached_audio_input: rates.cached_audio_input ?? rates.cached_input }),
  })
  return {
    per_million_tokens: complete(per_million_tokens),
    tiers: tiers.map((each) => ({ ...each, per_million_tokens: complete(each.per_million_tokens) })),
  }
}

type Answers = Readonly<Record<Calculator, Answered>>

const calculate = ({ python }: Calculators, cases: readonly OracleCase[]): readonly Answers[] => {
  const input = cases
    .map((each) => {
      const { model, flavor, tier } = each
      const { name, provider } = model
      return JSON.stringify({
        model: name,
        provider,
        flavor,
        tier,
        answer: wholeAnswer(each),
        rates: completeRates(each),
      })
    })
    .join('\n')
  const script = fileURLToPath(new URL('calculate.py', import.meta.url))
  const { status, stdout, stderr } = spawnSync(python, [script], {
    input,
    encoding: 'utf8',
    maxBuffer: outputBytesMax,
  })
  if (status !== 0) throw new Error(`the calculators ended with ${status}:\n${stderr.slice(-4_000)}`)
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

interface Found {
  count: number
  absent: number
  picos: bigint
}

const shownMax = 10

const show = (lines: readonly string[]): void => {
  for (const line of lines.slice(0, shownMax)) console.log(`  ${line}`)
}

const caseText = (each: OracleCase, more: object = {}): string =>
  JSON.stringify({ ...each, model: each.model.name, provider: each.model.provider, ...more })

const compareAll = (cases: readonly OracleCase[], answers: readonly Answers[], calculator: Calculator) => {
  const byCause = new Map<string, Found>()
  const foundOf = (cause: string): Found => {
    const found = byCause.get(cause) ?? { count: 0, absent: 0, picos: 0n }
    byCause.set(cause, found)
    return found
  }
  const unexplained: string[] = []
  let equal = 0
  for (const [index, each] of cases.entries()) {
    const ours = chargeCase(each)
    const theirs = answers[index]![calculator]
    const { causes, absent, differencePicos } = compareCharge(each, ours, calculator, theirs)
    if (causes?.length === 0) equal += 1
    if (causes === null) unexplained.push(caseText(each, { ours: formatUsd(ours.picos), theirs }))
    for (const cause of causes ?? []) {
      foundOf(cause).count += 1
      foundOf(cause).picos += BigInt(Math.round(differencePicos))
    }
    for (const cause of absent) foundOf(cause).absent += 1
  }
  return { equal, byCause, unexplained }
}

/** Sums are printed in millionths of a dollar. */
const picosPerMicro = 1_000_000n

const reportCalculator = (
  cases: readonly OracleCase[],
  answers: readonly Answers[],
  calculator: Calculator,
): boolean => {
  const { equal, byCause, unexplained } = compareAll(cases, answers, calculator)
  console.log(`${calculator}: ${equal} of ${cases.length} charges are equal, ${unexplained.length} differ unexplained`)
  show(unexplained)
  for (const [cause, { count: found, absent, picos }] of [...byCause].toSorted()) {
    const usd = formatUsd((picos / picosPerMicro) * picosPerMicro)
    console.log(`  ${cause}: ${found}, $${usd}${absent === 0 ? '' : `, and ${absent} WITHOUT A DIFFERENCE`}`)
    console.log(`    ${reasons.get(cause)}`)
  }
  return unexplained.length === 0 && [...byCause.values()].every(({ absent }) => absent === 0)
}

/** Neither calculator charges these calls. */
const reportPublished = (cases: readonly OracleCase[]): boolean => {
  const calling = cases.filter(({ calls }) => Object.keys(calls).length > 0)
  const differing = calling.filter(
    (each) => !agreesWithPublished(each, chargeCase(each), published[each.model.provider] ?? {}),
  )
  console.log(
    `prices.json: of ${calling.length} answers with file searches, code interpreters or searches of X ${differing.length} differ`,
  )
  show(differing.map((each) => caseText(each)))
  return differing.length === 0
}

const reportClouds = (table: JsonObject): boolean => {
  const { prices }: PriceFile = readJson(new URL('../../prices.json', import.meta.url))
  const rows = readLiteLlm(table, { providers, allowFree: false }).flatMap((row) => ('sheet' in row ? [row] : []))
  const { compared, announced, differing } = compareClouds(prices, rows)
  console.log(
    `prices.json: of ${compared} rows of clouds ${differing.length} differ: ${announced} announced ones from those of their makers, the others from the table`,
  )
  show(differing)
  return differing.length === 0
}

const installed = installCalculators()
const models = modelsOf(readJson(installed.table))
const draws = createDraws(seed)
const cases = [...recordedCases(models), ...Array.from({ length: count }, () => createCase(draws, models))]
console.log(
  `${count} usages of ${models.length} models, whole and streamed, and ${recordedUsages.length} recorded ones; ` +
    `${cases.filter(({ searches }) => searches > 0).length} with web searches`,
)
const answers = calculate(installed, cases)
const agreed = calculators.map((calculator) => reportCalculator(cases, answers, calculator))
agreed.push(reportPublished(cases), reportClouds(readJson(installed.table)))
if (agreed.includes(false)) process.exitCode = 1
