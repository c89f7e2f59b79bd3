import t from 'tap'
import { isPlausibleUsage } from '../../../src/domain/pricing/worst-case.ts'
import { noUsage, type Usage } from '../../../src/domain/usage/usage.ts'
import type { PriceSheet } from '../../../src/events/types.ts'

const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '1', output: '2' },
  max_output_tokens: 1_000,
  context_tokens: 9_000,
}
const usageOf = (promptTotal: number, outputTotal: number, more: Partial<Usage> = {}): Usage => ({
  ...noUsage,
  inputUncached: promptTotal,
  promptTotal,
  outputTotal,
  ...more,
})

t.test('a usage is plausible up to twice what the model can take and give', async (t) => {
  const rows: readonly (readonly [what: string, usage: Usage, choices: number, plausible: boolean])[] = [
    ['nothing', usageOf(0, 0), 1, true],
    ['all that the model can', usageOf(9_000, 1_000), 1, true],
    ['twice as much', usageOf(10_000, 10_000), 1, true],
    ['a token more', usageOf(10_000, 10_001), 1, false],
    ['several answers', usageOf(10_000, 10_001), 2, true],
    ['a quadrillion', usageOf(1e15, 1), 1, false],
    ['tools read the prompt again', usageOf(600_000, 40_000, { toolCalls: { web_search: 9 } }), 1, true],
    ['not that often', usageOf(600_000, 40_001, { toolCalls: { web_search: 9 } }), 1, false],
    ['so do iterations', usageOf(600_000, 40_000, { promptLargest: 9_000 }), 1, true],
    ['a figure below zero', usageOf(10, 0, { negative: { completion_tokens: -5 } }), 1, false],
    ['calls without end', usageOf(10, 10, { toolCalls: { web_search: 1e15 } }), 1, false],
    ['tokens that tools read', usageOf(10, 10, { toolCalls: { image_input_tokens: 1e15 } }), 1, false],
  ]
  for (const [what, usage, choices, plausible] of rows)
    t.equal(isPlausibleUsage(sheet, usage, { prompts: 1, choices }), plausible, what)
})

t.test('without a context size, that of the largest model counts', async (t) => {
  const { context_tokens: _, ...unknown } = sheet
  t.equal(isPlausibleUsage(unknown, usageOf(4_000_000, 0), { prompts: 1, choices: 1 }), true)
  t.equal(isPlausibleUsage(unknown, usageOf(5_000_000, 0), { prompts: 1, choices: 1 }), false)
})

t.test('each input of a request for embeddings may fill the context', async (t) => {
  const embedding = { ...sheet, max_output_tokens: 0, context_tokens: 8_192 }
  const isPlausible = (tokens: number, prompts: number): boolean =>
    isPlausibleUsage(embedding, usageOf(tokens, 0), { prompts, choices: 0 })
  t.equal(isPlausible(300_000, 37), true)
  t.equal(isPlausible(300_000, 1), false)
})
