import t from 'tap'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import { countTokens, loadTokenizer } from '../../../src/providers/dialect/tokens.ts'

t.test('however many texts are counted at once, a turn of the event loop counts a part of one', async (t) => {
  await loadTokenizer()
  const parts = 5
  const texts = Array.from({ length: 8 }, () => 'word '.repeat((parts * providerLimits.estimateYieldCharacters) / 5))
  let counted = 0
  const counting = Promise.all(
    texts.map(async (text) => {
      await countTokens(text)
      counted += 1
    }),
  )
  let turns = 0
  for (; counted < texts.length; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve))
  await counting
  t.ok(turns >= parts * texts.length - 1, `${turns} turns`)
})

t.test('long texts are counted beside other work, which has most of the time', async (t) => {
  await loadTokenizer()
  const texts = Array.from({ length: 4 }, () => 'words and more '.repeat(providerLimits.estimateCharactersMax / 15))
  const before = performance.eventLoopUtilization()
  await Promise.all(texts.map(countTokens))
  const { utilization } = performance.eventLoopUtilization(before)
  t.ok(utilization < 0.6, `${(100 * utilization).toFixed(0)} % of the time`)
})
