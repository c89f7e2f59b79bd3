import type { Command } from 'commander'
import { UndiciClient } from '../adapters/http/client.ts'
import type { Config } from '../config/config.ts'
import type { ProviderConfig } from '../config/providers.ts'
import { parseUsd } from '../domain/money.ts'
import { isEmbeddingSheet } from '../domain/pricing/price-book.ts'
import type { PriceSheet } from '../events/types.ts'
import { type CheckedModel, type CheckResult, checkProvider, skipped } from '../providers/checks/check-provider.ts'
import { checkLimits } from '../providers/checks/limits.ts'
import type { Provider } from '../providers/dialect/provider.ts'
import type { HttpClient } from '../providers/http.ts'
import { openVideoVendor } from '../providers/vv-video/open-video-vendor.ts'
import type { VideoVendorConfig } from '../providers/vv-video/vendor.ts'
import type { ConfigOf } from './audit-command.ts'
import { openProviders } from './providers.ts'
import { CommandError, type OutputOptions, printRecords, UsageError } from './report.ts'
import { createRuntime, type Runtime } from './runtime.ts'

interface Options extends OutputOptions {
  readonly model?: string
}

interface Checked extends CheckResult {
  readonly deployment: string
}

/** Shapes a request for a model whose price is not in the file; nothing is charged by it. */
const sheetUnlessKnown: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '0', output: '0' },
  max_output_tokens: 4_096,
}

const pricedSheets = ({ prices }: Config, provider: string): ReadonlyMap<string, PriceSheet> =>
  new Map(
    prices.prices.flatMap(({ model, sheet }) =>
      sheet !== undefined && model.startsWith(`${provider}/`) ? [[model.slice(provider.length + 1), sheet]] : [],
    ),
  )

const outputPrice = (sheet: PriceSheet | undefined): bigint => parseUsd(sheet?.per_million_tokens.output ?? '0')

/** The cheapest of its models that answers; one that is named in the configuration before one that only has a price. */
const cheapestOf = (names: readonly string[], sheets: ReadonlyMap<string, PriceSheet>): string | undefined => {
  const answering = names.filter((name) => !sheets.has(name) || !isEmbeddingSheet(sheets.get(name)!))
  return answering.toSorted((a, b) => Number(outputPrice(sheets.get(a)) - outputPrice(sheets.get(b))))[0]
}

type Names = Readonly<Record<string, string>>

const modelFor = (
  { name, models }: ProviderConfig,
  own: Names | undefined,
  sheets: ReadonlyMap<string, PriceSheet>,
  asked: string | undefined,
): CheckedModel | null => {
  const named = Object.keys(own ?? models)
  const model = asked ?? cheapestOf(named.length > 0 ? named : [...sheets.keys()], sheets)
  if (model === undefined) return null
  const upstreamModel = own?.[model] ?? models[model] ?? model
  return { model: `${name}/${model}`, upstreamModel, sheet: sheets.get(model) ?? sheetUnlessKnown }
}

interface Deployed {
  readonly deployment: string
  readonly provider: Provider
  readonly models?: Names | undefined
}

const deploymentsOf = (provider: Provider): readonly Deployed[] =>
  provider.deployments?.map(({ name, models, provider }) => ({ deployment: name, models, provider })) ?? [
    { deployment: '', provider },
  ]

interface Testing {
  readonly config: Config
  readonly http: HttpClient
  readonly runtime: Runtime
}

const checkDeployments = async (
  config: ProviderConfig,
  /** Null: no model, which costs nothing; undefined: its cheapest. */
  asked: string | undefined | null,
  { config: file, http, runtime }: Testing,
): Promise<readonly Checked[]> => {
  const opened = openProviders([config], { http, clock: runtime.clock }).providers.get(config.name)!
  const sheets = pricedSheets(file, config.name)
  const checked: Checked[] = []
  for (const { deployment, provider, models } of deploymentsOf(opened)) {
    const isServed = asked === undefined || asked === null || models === undefined || Object.hasOwn(models, asked)
    const results = isServed
      ? await checkProvider(provider, asked === null ? null : modelFor(config, models, sheets, asked), {
          http,
          nowMs: runtime.clock(),
        })
      : [skipped('answer', `it does not list ${asked} in its models`)]
    checked.push(...results.map((result) => ({ deployment, ...result })))
  }
  return checked
}

const refusedByVendor = /credentials_refused|http_40[13]\b/

/** Asks for a task that does not exist: a vendor that answers so was reached, and accepts the key. */
const checkVendor = async (config: VideoVendorConfig, { http, runtime }: Testing): Promise<readonly Checked[]> => {
  const vendor = openVideoVendor({ config, http, ...runtime })
  const status = await vendor.query('text2video', 'gateway-provider-test', AbortSignal.timeout(checkLimits.callMs))
  const reason = 'reason' in status ? status.reason : ''
  const of = (check: CheckResult['check'], result: CheckResult['result'], detail = ''): Checked => ({
    deployment: '',
    check,
    result,
    detail,
  })
  if (reason === '') return [of('reach', 'ok'), of('authentication', 'ok')]
  if (refusedByVendor.test(reason)) return [of('reach', 'ok'), of('authentication', 'failed', reason)]
  return [of('reach', 'failed', reason), of('authentication', 'skipped', 'it was not reached')]
}

const unknownProvider = ({ providers, videoVendors }: Config, name: string): UsageError => {
  const names = [...providers, ...videoVendors].map((each) => each.name)
  return new UsageError(
    names.length === 0
      ? `no provider \`${name}\`: none is configured, so the sandbox answers`
      : `no provider \`${name}\` is configured: there are ${names.join(', ')}`,
  )
}

const checkNamed = (name: string, model: string | undefined, testing: Testing): Promise<readonly Checked[]> => {
  const { providers, videoVendors } = testing.config
  const provider = providers.find((each) => each.name === name)
  const vendor = videoVendors.find((each) => each.name === name)
  if (provider === undefined && vendor === undefined) throw unknownProvider(testing.config, name)
  console.error(`Calls ${name} with its configured credentials. That can cost some tokens, which no workspace pays.`)
  return vendor === undefined
    ? checkDeployments(provider!, model?.startsWith(`${name}/`) ? model.slice(name.length + 1) : model, testing)
    : checkVendor(vendor, testing)
}

/** Of every configured provider and its deployments, without an answer of a model: that costs nothing. */
export const checkReach = async (testing: Testing): Promise<readonly (Checked & { readonly of: string })[]> => {
  const { providers, videoVendors } = testing.config
  const checked = await Promise.all([
    ...providers.map(async (each) => [each.name, await checkDeployments(each, null, testing)] as const),
    ...videoVendors.map(async (each) => [each.name, await checkVendor(each, testing)] as const),
  ])
  return checked.flatMap(([name, results]) =>
    results
      .filter(({ check }) => check !== 'answer')
      .map((result) => ({ ...result, of: result.deployment === '' ? name : `${name}/${result.deployment}` })),
  )
}

const testProvider = async (config: Config, name: string, { model, json }: Options): Promise<void> => {
  const http = new UndiciClient()
  try {
    const results = await checkNamed(name, model, { config, http, runtime: createRuntime('warn') })
    printRecords(
      results.map((result) => ({ provider: name, ...result })),
      { json },
    )
    const failures = results.filter(({ result }) => result === 'failed').length
    if (failures > 0) throw new CommandError(`${failures} of ${results.length} checks failed`)
  } finally {
    await http.stop()
  }
}

export const registerProvider = (program: Command, configOf: ConfigOf): void => {
  program
    .command('provider')
    .description('the configured providers')
    .command('test <name>')
    .description('call each deployment of a provider, and show what works; this can cost some tokens')
    .option('--model <model>', 'ask this model (default: the cheapest of its models)')
    .option('--json', 'one JSON object a line', false)
    .action((name: string, options: Options, command: Command) =>
      testProvider(configOf(command, { role: 'proxy' }), name, options),
    )
}
