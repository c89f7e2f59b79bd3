import { chargeFor } from '../../domain/pricing/charge.ts'
import { noUsage, type Usage } from '../../domain/usage/usage.ts'
import type { PriceSheet } from '../../events/types.ts'

export type GroupOf = (item: string) => string

export const keepUngrouped: GroupOf = (item) => item

const renameGroups =
  (names: Readonly<Record<string, string>>): GroupOf =>
  (item) =>
    names[item] ?? item

/** The search tool is priced by context size here; OpenAI counts it as one. */
const searches = { web_search_low: 'web_search', web_search_medium: 'web_search', web_search_high: 'web_search' }

/** OpenAI counts reasoning as output, and has one price for cache writes. */
export const openaiGroups: GroupOf = renameGroups({
  reasoning: 'output',
  cached_audio_input: 'cached_input',
  cached_image_input: 'cached_input',
  cache_write_5m: 'cache_write',
  cache_write_1h: 'cache_write',
  cache_write_12h: 'cache_write',
  ...searches,
})

export const anthropicGroups: GroupOf = renameGroups({
  reasoning: 'output',
  audio_output: 'output',
  image_output: 'output',
  audio_input: 'input',
  image_input: 'input',
  cached_audio_input: 'cached_input',
  cached_image_input: 'cached_input',
  ...searches,
})

/** The item that includes this one, if a file has no column for it. */
const parentItems: Readonly<Record<string, string>> = {
  reasoning: 'output',
  audio_output: 'output',
  image_output: 'output',
  cached_input: 'input',
  cached_audio_input: 'cached_input',
  cached_image_input: 'cached_input',
  cache_write_5m: 'input',
  cache_write_1h: 'cache_write_5m',
  cache_write_12h: 'cache_write_1h',
  audio_input: 'input',
  image_input: 'input',
}

/** Each item under its own name if the file has it, else under the item that includes it. */
export const groupByColumns = (columns: ReadonlySet<string>): GroupOf => {
  const groupOf: GroupOf = (item) => {
    const kind = parentItems[item]
    return columns.has(item) || kind === undefined ? item : groupOf(kind)
  }
  return groupOf
}

export const tokenItems = [
  'input',
  'cached_input',
  'cached_audio_input',
  'cached_image_input',
  'cache_write_5m',
  'cache_write_1h',
  'cache_write_12h',
  'audio_input',
  'image_input',
  'output',
  'reasoning',
  'audio_output',
  'image_output',
] as const

const unitUsage: Readonly<Record<string, Partial<Usage>>> = {
  input: { inputUncached: 1 },
  cached_input: { cacheRead: 1 },
  cached_audio_input: { cacheRead: 1, cacheReadAudio: 1 },
  cached_image_input: { cacheRead: 1, cacheReadImage: 1 },
  cache_write: { cacheWrite5m: 1 },
  cache_write_5m: { cacheWrite5m: 1 },
  cache_write_1h: { cacheWrite1h: 1 },
  cache_write_12h: { cacheWrite12h: 1 },
  audio_input: { inputAudio: 1 },
  image_input: { inputImage: 1 },
  output: { outputTotal: 1 },
  reasoning: { outputTotal: 1, outputReasoning: 1 },
  audio_output: { outputTotal: 1, outputAudio: 1 },
  image_output: { outputTotal: 1, outputImage: 1 },
}

/** By the sheet's first rates. */
export const computeUnitPicos = (sheet: PriceSheet, item: string): bigint =>
  chargeFor(sheet, { ...noUsage, ...(unitUsage[item] ?? { toolCalls: { [item]: 1 } }) }).totalPicos
