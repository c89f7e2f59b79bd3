import { type Command, InvalidArgumentError, Option } from 'commander'
import { modelsIn } from '../administration/limits-changes.ts'
import { limitsRecords } from '../administration/operations/limits.ts'
import { findSetLimits } from '../domain/accounts/limits.ts'
import { parseUsd } from '../domain/money.ts'
import type { Pace } from '../events/types.ts'
import { warnAboutNames } from './catalog.ts'
import { changeLimits, type LimitsChange } from './limits.ts'
import { createOperationContext, type WithOperationSession } from './operations.ts'
import { type OutputOptions, printRecords } from './report.ts'

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

const json = (): Option => new Option('--json', 'one JSON object a line').default(false)

/** Into the group of the operations on limits. */
export const registerLimits = (group: Command, withSession: WithOperationSession): void => {
  group
    .command('set <workspace>')
    .description('change the limits that are named and leave the others; `none` lifts one')
    .option('--key <key>', 'of one key, by its id (default: of the whole workspace)')
    .option('--requests-per-minute <n>', 'requests a minute', countOrNone)
    .option('--tokens-per-minute <n>', 'tokens a minute, input plus output', countOrNone)
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
        if (!fresh) console.error('unchanged')
        warnAboutNames(session, modelsIn(findSetLimits(session.tail.ledger.accounts, id, options.key ?? null)))
        printRecords(limitsRecords(createOperationContext(session), id, options), options)
      }),
    )
}
