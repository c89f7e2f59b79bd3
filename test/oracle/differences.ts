import { parseUsd, picosPerUsd } from '../../src/domain/money.ts'
import { chargeFor } from '../../src/domain/pricing/charge.ts'
import type { Usage } from '../../src/domain/usage/usage.ts'
import type { PriceSheet } from '../../src/events/types.ts'
import type { OurCharge } from './charges.ts'
import type { OracleCase } from './usages.ts'

export type Calculator = 'litellm' | 'genai'

/** What a calculator does otherwise: the usage or the sheet with which we would charge what it does. */
interface Deviation {
  readonly name: string
  readonly calculators: readonly Calculator[]
  readonly reason: string
  readonly applies: (each: OracleCase, usage: Usage) => boolean
  readonly alter: (charged: Charged, each: OracleCase) => Charged
}

interface Charged {
  readonly sheet: PriceSheet
  readonly usage: Usage
}

const withUsage = ({ sheet, usage }: Charged, changes: Partial<Usage>): Charged => ({
  sheet,
  usage: { ...usage, ...changes },
})

const asText = (charged: Charged): Charged => {
  const { inputUncached, inputAudio, cacheReadAudio: _cached, ...usage } = charged.usage
  return { ...charged, usage: { ...usage, inputUncached: inputUncached + inputAudio, inputAudio: 0, outputAudio: 0 } }
}

const withOtherWrites = (charged: Charged): Charged => {
  const { cacheWrite12h = 0, cacheWrite5m } = charged.usage
  return withUsage(charged, { cacheWrite5m: cacheWrite5m + cacheWrite12h, cacheWrite12h: 0 })
}

const withoutCalls = ({ toolCalls }: Usage, calls: OracleCase['calls']): Usage['toolCalls'] =>
  Object.fromEntries(Object.entries(toolCalls).filter(([tool]) => !Object.hasOwn(calls, tool)))

const hasAudio = ({ inputAudio, outputAudio, cacheReadAudio = 0 }: Usage): boolean =>
  inputAudio + outputAudio + cacheReadAudio > 0

const deviations: readonly Deviation[] = [
  {
    name: 'writes-for-twelve-hours-as-others',
    calculators: ['genai'],
    reason: 'genai-prices reads no cache_write_tokens_details: writes for twelve hours cost what others do.',
    applies: (_, { cacheWrite12h = 0 }) => cacheWrite12h > 0,
    alter: withOtherWrites,
  },
  {
    name: 'writes-for-twelve-hours-in-chat-as-others',
    calculators: ['litellm'],
    reason: 'LiteLLM reads cache_write_tokens_details of responses alone: elsewhere such writes cost what others do.',
    applies: ({ flavor }, { cacheWrite12h = 0 }) => cacheWrite12h > 0 && flavor === 'chat',
    alter: withOtherWrites,
  },
  {
    name: 'region-without-multiplier',
    calculators: ['genai'],
    reason: 'genai-prices has no price for a region: Anthropic charges 1.1 times as much where inference_geo is us.',
    applies: (_, { inferenceGeo }) => inferenceGeo !== undefined,
    alter: ({ sheet, usage: { inferenceGeo: _region, ...usage } }) => ({ sheet, usage }),
  },
  {
    name: 'audio-in-responses-as-text',
    calculators: ['genai'],
    reason: 'genai-prices reads no audio from the usage of a response.',
    applies: ({ flavor }, usage) => flavor === 'responses' && hasAudio(usage),
    alter: asText,
  },
  {
    name: 'searches-with-google-not-imported',
    calculators: ['litellm'],
    reason: 'The importer leaves the price of a search with Google out, LiteLLM has one.',
    applies: ({ model, searches }) => model.provider === 'google' && searches > 0,
    alter: ({ sheet, usage }, { model }) => {
      const price = model.searchUsd ?? '0'
      return { sheet: { ...sheet, per_call: { grounded_prompt: price, grounding_query: price } }, usage }
    },
  },
  {
    name: 'searches-by-the-answer',
    calculators: ['litellm'],
    reason:
      'A name without a version is an alias of the newest models to us, charged by the query; LiteLLM charges the answer.',
    applies: ({ model, searches }) => model.provider === 'google' && searches > 1 && !model.searchesByQuery,
    alter: (charged) => withUsage(charged, { toolCalls: { grounding_query: 1 } }),
  },
  {
    name: 'tools-not-charged',
    calculators: ['litellm'],
    reason:
      'LiteLLM charges no file search, code interpreter or search of X that an answer shows: these are compared with the published prices.',
    applies: ({ calls }) => Object.keys(calls).length > 0,
    alter: ({ sheet, usage }, { calls }) => ({ sheet, usage: { ...usage, toolCalls: withoutCalls(usage, calls) } }),
  },
  {
    name: 'row-of-the-same-model',
    calculators: ['litellm'],
    reason: 'LiteLLM has two rows of the model: it charges by the one named gemini/, which is free, we by the other.',
    applies: ({ model }) => model.name === 'gemini-exp-1206',
    alter: ({ sheet, usage }) => ({ sheet: { ...sheet, per_million_tokens: { input: '0', output: '0' } }, usage }),
  },
]

interface Refusal extends Pick<Deviation, 'name' | 'calculators' | 'reason' | 'applies'> {
  readonly error: RegExp
}

/** What a calculator refuses to charge. */
const refusals: readonly Refusal[] = [
  {
    name: 'refuses-audio-beside-cache',
    reason:
      'genai-prices charges no audio beside cached tokens where the usage does not say how much of it was cached.',
    calculators: ['genai'],
    applies: ({ flavor }, { inputAudio, cacheRead }) => flavor !== 'responses' && inputAudio > 0 && cacheRead > 0,
    error: /^ValueError: Missing usage for cache_audio_read_tokens/,
  },
]

export const reasons: ReadonlyMap<string, string> = new Map(
  [...deviations, ...refusals].map(({ name, reason }) => [name, reason]),
)

/** genai-prices has no price for a call of a tool: with it the tokens are compared. */
const comparedPicos = ({ sheet, usage }: Charged, calculator: Calculator): bigint =>
  chargeFor(sheet, calculator === 'genai' ? { ...usage, toolCalls: {} } : usage).totalPicos

const toleranceRatio = 1e-9
const tolerancePicos = 1

/** LiteLLM calculates with floating point. */
const isEqual = (picos: bigint, theirPicos: number): boolean =>
  Math.abs(Number(picos) - theirPicos) <= Math.max(tolerancePicos, Number(picos) * toleranceRatio)

/** The smallest first. */
const subsetsOf = <T>(items: readonly T[]): readonly (readonly T[])[] =>
  Array.from({ length: 2 ** items.length }, (_, chosen) =>
    items.filter((_item, index) => Math.floor(chosen / 2 ** index) % 2 === 1),
  ).toSorted((one, other) => one.length - other.length)

interface Verdict {
  /** What makes the charges equal; empty where they are, null where nothing does. */
  readonly causes: readonly string[] | null
  /** Causes that apply, and make no difference here, though they should. */
  readonly absent: readonly string[]
  readonly differencePicos: number
}

export type Answered = { readonly charge: string } | { readonly error: string }

const compareError = (each: OracleCase, { usage }: OurCharge, calculator: Calculator, error: string): Verdict => {
  const cause = refusals.find(
    ({ calculators, applies, error: pattern }) =>
      calculators.includes(calculator) && applies(each, usage) && pattern.test(error),
  )
  return { causes: cause === undefined ? null : [cause.name], absent: [], differencePicos: 0 }
}

/**
 * Explained is what our own charge becomes equal to theirs with, to the pico-dollar. A cause that applies must be one:
 * else its explanation is wrong, or what it explains has ended.
 */
export const compareCharge = (
  each: OracleCase,
  ours: OurCharge,
  calculator: Calculator,
  answered: Answered,
): Verdict => {
  if ('error' in answered) return compareError(each, ours, calculator, answered.error)
  const charged: Charged = { sheet: each.model.sheet, usage: ours.usage }
  const picosWith = (some: readonly Deviation[]): bigint =>
    comparedPicos(
      some.reduce((altered, { alter }) => alter(altered, each), charged),
      calculator,
    )
  const theirPicos = Number(answered.charge) * Number(picosPerUsd)
  const differencePicos = Math.abs(Number(picosWith([])) - theirPicos)
  const applying = deviations.filter(
    ({ calculators, applies }) => calculators.includes(calculator) && applies(each, ours.usage),
  )
  const explaining = subsetsOf(applying).find((some) => isEqual(picosWith(some), theirPicos))
  if (explaining === undefined) return { causes: null, absent: [], differencePicos }
  const absent = applying.filter((one) => !explaining.includes(one) && picosWith([one]) !== picosWith([]))
  return { causes: explaining.map(({ name }) => name), absent: absent.map(({ name }) => name), differencePicos }
}

/** Whether the calls of tools cost what they do by the published prices, to the pico-dollar. */
export const agreesWithPublished = (
  { model: { sheet }, calls }: OracleCase,
  { usage, picos }: OurCharge,
  publishedUsd: Readonly<Record<string, string>>,
): boolean => {
  const published = Object.entries(calls).map(([tool, count]) => BigInt(count) * parseUsd(publishedUsd[tool]!))
  const others = chargeFor(sheet, { ...usage, toolCalls: withoutCalls(usage, calls) }).totalPicos
  return picos - others === published.reduce((sum, each) => sum + each, 0n)
}
