import { type Command, InvalidArgumentError, Option } from 'commander'
import { modelsIn } from '../administration/limits-changes.ts'
import type { Config } from '../config/config.ts'
import { findSetLimits } from '../domain/accounts/limits.ts'
import { parseUsd } from '../domain/money.ts'
import type { Pace } from '../events/types.ts'
import type { CommandContext } from './accounts.ts'
import { warnAboutNames } from './catalog.ts'
import { changeLimits, clearLimits, type LimitsChange, limitsInShort, limitsRecords } from './limits.ts'
import { type OutputOptions, printRecords } from './report.ts'
import type { Runtime } from './runtime.ts'

interface LimitsSession extends CommandContext {
  readonly runtime: Runtime
  readonly config: Pick<Config, 'requestsPerMinute' | 'catalog'>
}

export type WithLimitsSession = (command: Command, work: (session: LimitsSession) => Promise<void>) => Promise<void>

const countMax = 1_000_000_000
/** A text, since the option parser takes null for an empty one. */
const noLimit = 'none'

const countOf = (text: string): number => {
  const count = Number(text)
  if (!/^[0-9]+$/.test(text) || count < 1 || count > countMax)
    throw new InvalidArgumentError(`a whole number from 1 to ${countMax}`)
  return count
}

type None = typeof noLimit

const countOrNone = (text: string): number | None => {
  if (text === noLimit) return noLimit
  try {
    return countOf(text)
  } catch {
    throw new InvalidArgumentError(`a whole number from 1 to ${countMax}, or \`${noLimit}\``)
  }
}

const isSpendable = (text: string): boolean => {
  try {
    return parseUsd(text) >= 0n
  } catch {
    return false
  }
}

const usdOrNone = (text: string): string => {
  if (text === noLimit) return noLimit
  if (!isSpendable(text))
    throw new InvalidArgumentError(`USD from zero on, such as 12.50, with at most 12 decimals, or \`${noLimit}\``)
  return text
}

const modelNameMax = 200
const modelPattern = /^[^/\s]+\/\S+$/

const modelOf = (text: string): string => {
  if (!modelPattern.test(text) || text.startsWith('gateway/') || text.length > modelNameMax)
    throw new InvalidArgumentError('a model is written <provider>/<model>; every model of one is <provider>/*')
  return text
}

const collectModels = (text: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  modelOf(text),
]

const paceNames: { readonly [name: string]: keyof Pace } = {
  'requests-per-minute': 'requestsPerMinute',
  'tokens-per-minute': 'tokensPerMinute',
  'concurrent-requests': 'concurrentRequests',
}

const paceEntry = (text: string): readonly [keyof Pace, number] => {
  const [name = '', count = ''] = text.split('=')
  const member = Object.hasOwn(paceNames, name) ? paceNames[name] : undefined
  if (member === undefined)
    throw new InvalidArgumentError(`\`${text}\` is none of ${Object.keys(paceNames).join('=N, ')}=N`)
  return [member, countOf(count)]
}

type ModelPaces = NonNullable<LimitsChange['models']>

/** `openai/gpt-4o,requests-per-minute=10`; a model alone lifts its limits. */
const collectPaces = (text: string, before: ModelPaces | undefined): ModelPaces => {
  const [model = '', ...paces] = text.split(',')
  const pace: Pace | null = paces.length === 0 ? null : Object.fromEntries(paces.map(paceEntry))
  return { ...before, [modelOf(model)]: pace }
}

interface SetOptions extends OutputOptions {
  readonly key?: string
  readonly requestsPerMinute?: number | None
  readonly tokensPerMinute?: number | None
  readonly concurrentRequests?: number | None
  readonly spendDay?: string
  readonly spendMonth?: string
  readonly spendTotal?: string
  readonly allowModel?: string[]
  readonly anyModel?: true
  readonly modelLimit?: ModelPaces
}

type Named<T> = { [M in keyof T]?: Exclude<T[M], None | undefined> | null }

const pickNamed = <T extends object>(members: T): Named<T> =>
  Object.fromEntries(
    Object.entries(members)
      .filter(([, value]) => value !== undefined)
      .map(([member, value]) => [member, value === noLimit ? null : value]),
  ) as Named<T>

const changeOf = (options: SetOptions): LimitsChange => {
  const { requestsPerMinute, tokensPerMinute, concurrentRequests, allowModel, anyModel, modelLimit } = options
  const spend = pickNamed({ day: options.spendDay, month: options.spendMonth, total: options.spendTotal })
  return {
    ...pickNamed({ requestsPerMinute, tokensPerMinute, concurrentRequests }),
    ...(anyModel ? { allowedModels: null } : {}),
    ...(allowModel === undefined ? {} : { allowedModels: allowModel }),
    ...(Object.keys(spend).length === 0 ? {} : { spend }),
    ...(modelLimit === undefined ? {} : { models: modelLimit }),
  }
}

const print = (session: LimitsSession, workspaceId: string, { json }: OutputOptions): void => {
  const { config, runtime } = session
  const records = limitsRecords(session, workspaceId, config.requestsPerMinute, runtime.clock())
  printRecords(json ? records.map((record) => ({ ...record })) : records.map(limitsInShort), { json })
}

const json = (): Option => new Option('--json', 'one JSON object a line').default(false)
const key = (): Option => new Option('--key <key>', 'of one key, by its id (default: of the whole workspace)')

const registerSet = (group: Command, withSession: WithLimitsSession): void => {
  group
    .command('set <workspace>')
    .description('change the limits that are named and leave the others; `none` lifts one')
    .addOption(key())
    .option('--requests-per-minute <n>', 'requests a minute', countOrNone)
    .option('--tokens-per-minute <n>', 'tokens a minute, input and output together', countOrNone)
    .option('--concurrent-requests <n>', 'requests at once', countOrNone)
    .option('--spend-day <usd>', 'what a key may spend in a day (UTC)', usdOrNone)
    .option('--spend-month <usd>', 'what a key may spend in a month (UTC)', usdOrNone)
    .option('--spend-total <usd>', 'what a key may spend ever', usdOrNone)
    .option('--allow-model <model>', 'allow this model, or `<provider>/*`, and no others; repeatable', collectModels)
    .option('--any-model', 'allow every model again')
    .option(
      '--model-limit <model,…>',
      'limit one model: <model>,requests-per-minute=N,tokens-per-minute=N,concurrent-requests=N; a model alone lifts it',
      collectPaces,
    )
    .addOption(json())
    .action((id: string, options: SetOptions, command: Command) =>
      withSession(command, async (session) => {
        const fresh = await changeLimits(session, id, options.key ?? null, changeOf(options))
        if (!fresh) console.error('the limits stood so already')
        warnAboutNames(session, modelsIn(findSetLimits(session.tail.ledger.accounts, id, options.key ?? null)))
        print(session, id, options)
      }),
    )
}

export const registerLimits = (program: Command, withSession: WithLimitsSession): void => {
  const group = program.command('limits').description('what a workspace and its keys may spend, ask and use')
  registerSet(group, withSession)
  group
    .command('show <workspace>')
    .description('what limits a workspace, where that comes from, and its keys, and what of it is spent')
    .addOption(json())
    .action((id: string, options: OutputOptions, command: Command) =>
      withSession(command, async (session) => print(session, id, options)),
    )
  group
    .command('clear <workspace>')
    .description('lift every limit of a workspace, or of one key')
    .addOption(key())
    .action((id: string, options: { readonly key?: string }, command: Command) =>
      withSession(command, async (session) => {
        const had = await clearLimits(session, id, options.key ?? null)
        console.error(had ? 'lifted' : 'there were none')
      }),
    )
}
