import type { PriceFile } from '../domain/pricing/price-file.ts'
import type { Provider } from '../providers/dialect/provider.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { ConfigProblem } from './config-error.ts'
import type { ConfigFile } from './config-file.types.ts'

type Entry = NonNullable<ConfigFile['providers']>[string]
type TimeoutsEntry = Omit<NonNullable<Entry['timeouts']>, 'models'>
type RetriesEntry = Omit<NonNullable<Entry['retries']>, 'models'>

type CallTimeouts = Omit<NonNullable<Provider['timeouts']>, 'models'>
type CallRetries = Omit<NonNullable<Provider['retries']>, 'models'>
type CallPolicies = Pick<Provider, 'timeouts' | 'retries'>

const forModels = <From, To>(
  entry: From & { readonly models?: Readonly<Record<string, From>> },
  read: (entry: From) => To,
): To & { readonly models: Readonly<Record<string, To>> } => ({
  ...read(entry),
  models: Object.fromEntries(Object.entries(entry.models ?? {}).map(([model, each]) => [model, read(each)])),
})

const msOf = (seconds: number): number => Math.ceil(seconds * 1_000)

const readTimeouts = (entry: TimeoutsEntry): CallTimeouts => ({
  ...(entry.connect_seconds === undefined ? {} : { connectMs: msOf(entry.connect_seconds) }),
  ...(entry.first_byte_seconds === undefined ? {} : { firstByteMs: msOf(entry.first_byte_seconds) }),
  ...(entry.idle_seconds === undefined ? {} : { idleMs: msOf(entry.idle_seconds) }),
  ...(entry.answer_seconds === undefined ? {} : { answerMs: msOf(entry.answer_seconds) }),
})

const readRetries = ({ max, budget_seconds: budget }: RetriesEntry): CallRetries => ({
  ...(max === undefined ? {} : { max }),
  ...(budget === undefined ? {} : { budgetMs: msOf(budget) }),
})

export const callPoliciesOf = ({ timeouts, retries }: Entry): CallPolicies => ({
  ...(timeouts === undefined ? {} : { timeouts: forModels(timeouts, readTimeouts) }),
  ...(retries === undefined ? {} : { retries: forModels(retries, readRetries) }),
})

const secondsIn = (value: unknown, path: string): readonly (readonly [path: string, seconds: number])[] => {
  if (typeof value === 'number') return path.endsWith('_seconds') ? [[path, value]] : []
  return Object.entries(value ?? {}).flatMap(([name, each]) => secondsIn(each, `${path}.${name}`))
}

const problemsOfModels = (
  provider: string,
  { timeouts, retries, models = {} }: Entry,
  priced: ReadonlySet<string>,
): readonly ConfigProblem[] =>
  Object.entries({ timeouts, retries })
    .flatMap(([policy, entry]) => Object.keys(entry?.models ?? {}).map((model) => ({ policy, model })))
    .filter(({ model }) => model.startsWith(`${provider}/`))
    .filter(({ model }) => !Object.hasOwn(models, model) && !priced.has(`${provider}/${model}`))
    .map(({ policy, model }) => ({
      path: `providers.${provider}.${policy}.models.${model}`,
      message: `is a name without its provider: write \`${model.slice(provider.length + 1)}\``,
    }))

/** The time of a call ends with its request's, which allowances are held for. */
export const problemsOfCallPolicies = (
  { providers = {}, limits = {} }: ConfigFile,
  { prices }: PriceFile,
): readonly ConfigProblem[] => {
  const priced = new Set(prices.map(({ model }) => model))
  const { request_deadline_seconds: most = sharedLimits.requestDeadlineMs / 1_000 } = limits
  const message = `is more than the ${most} seconds of a whole request (limits.request_deadline_seconds)`
  const late = Object.entries(providers)
    .flatMap(([name, { timeouts, retries }]) => secondsIn({ timeouts, retries }, `providers.${name}`))
    .filter(([, seconds]) => seconds > most)
    .map(([path]) => ({ path, message }))
  return [...late, ...Object.entries(providers).flatMap(([name, entry]) => problemsOfModels(name, entry, priced))]
}
