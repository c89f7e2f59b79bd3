import t from 'tap'
import { noUsage, type Usage } from '../../../src/domain/usage/usage.ts'
import { settleUsage } from '../../../src/roles/proxy/settle-usage.ts'

const usageOf = (prompt: number, output: number, toolCalls: Usage['toolCalls'] = {}): Usage => ({
  ...noUsage,
  inputUncached: prompt,
  promptTotal: prompt,
  outputTotal: output,
  toolCalls,
})

const counted = usageOf(10, 30)
const belowZero: Usage = { ...usageOf(12, 0), negative: { completion_tokens: -5 } }

t.test('usage that may not be that of the whole answer', async (t) => {
  const table: readonly [string, Usage | null, Usage, 'reported' | 'estimated'][] = [
    ['none', null, counted, 'estimated'],
    ['zeros', usageOf(0, 0), counted, 'estimated'],
    ['no output', usageOf(12, 0), usageOf(12, 30), 'estimated'],
    ['less output than was said', usageOf(12, 29), usageOf(12, 30), 'estimated'],
    ['as much as was said', usageOf(12, 30), usageOf(12, 30), 'reported'],
    ['more than was said', usageOf(12, 900), usageOf(12, 900), 'reported'],
    ['no input', usageOf(0, 900), usageOf(10, 900), 'estimated'],
    ['a figure below zero', belowZero, belowZero, 'reported'],
  ]
  for (const [name, told, usage, source] of table) t.same(settleUsage(told, counted), { usage, source }, name)
})

t.test('hidden thinking that was reported early covers no text that came later', async (t) => {
  const withThinking = (total: number, thinking: number): Usage => ({
    ...usageOf(12, total),
    outputReasoning: thinking,
  })
  const reported = withThinking(510, 500)
  t.same(settleUsage(reported, usageOf(10, 110)), { usage: withThinking(610, 500), source: 'estimated' })
  t.same(settleUsage(reported, usageOf(10, 10)), { usage: reported, source: 'reported' })
  t.same(settleUsage(reported, { ...usageOf(10, 610), outputReasoning: 600 }), {
    usage: withThinking(610, 600),
    source: 'estimated',
  })
})

t.test('thinking that was counted is part of a total which was reported without a split', async (t) => {
  const seen: Usage = { ...usageOf(12, 80), outputReasoning: 50 }
  t.same(settleUsage(usageOf(12, 60), seen), { usage: seen, source: 'estimated' })
  const split: Usage = { ...usageOf(12, 60), outputReasoning: 55 }
  t.same(settleUsage(split, seen).usage, { ...usageOf(12, 85), outputReasoning: 55 })
})

t.test('visible output, audio and images that were reported apart stay', async (t) => {
  const seen: Usage = { ...usageOf(12, 150), outputReasoning: 90 }
  const split: Usage = { ...usageOf(12, 100), outputReasoning: 20 }
  t.match(settleUsage(split, seen), { usage: { outputTotal: 170, outputReasoning: 90 }, source: 'estimated' })

  const shown: Usage = { ...usageOf(12, 80), outputReasoning: 50, outputAudio: 20, outputImage: 10 }
  t.match(settleUsage({ ...usageOf(12, 60), outputAudio: 25, outputImage: 30 }, shown).usage, {
    outputTotal: 105,
    outputReasoning: 50,
    outputAudio: 25,
    outputImage: 30,
  })
  t.match(settleUsage({ ...usageOf(12, 60), outputImage: 55 }, { ...usageOf(12, 70), outputAudio: 30 }).usage, {
    outputTotal: 85,
    outputAudio: 30,
    outputImage: 55,
  })
})

t.test('what an answer was served with replaces what was asked for', async (t) => {
  const asked: Usage = { ...counted, serviceTier: 'priority', inferenceGeo: 'us' }
  t.same(settleUsage(null, asked).usage, asked)
  t.same(settleUsage(null, asked, {}).usage, { ...counted, inferenceGeo: 'us' })
  t.same(settleUsage(null, asked, { serviceTier: 'flex' }).usage, { ...asked, serviceTier: 'flex' })
})

t.test('for each built-in tool the larger number of calls counts', async (t) => {
  const seen = usageOf(10, 30, { web_search: 2, x_search: 1 })
  for (const output of [0, 900]) {
    const { usage } = settleUsage(usageOf(12, output, { web_search: 1, code_run: 3 }), seen)
    t.same(usage.toolCalls, { web_search: 2, x_search: 1, code_run: 3 })
  }
})
