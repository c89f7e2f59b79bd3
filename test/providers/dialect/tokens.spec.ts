import * as fc from 'fast-check'
import t from 'tap'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import { countTokens, loadTokenizer } from '../../../src/providers/dialect/tokens.ts'
import { propertyRuns } from '../../support/property-runs.ts'

t.test('however many texts are counted at once, a turn of the event loop counts a part of one', async (t) => {
  await loadTokenizer()
  const parts = 5
  const texts = Array.from({ length: 8 }, () => 'word '.repeat((parts * providerLimits.estimateSliceCharacters) / 5))
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
  // The first part of one may be counted beside a later one of another.
  t.ok(turns >= (parts - 1) * texts.length, `${turns} turns`)
})

t.test('long texts are counted beside other work, which has most of the time', async (t) => {
  await loadTokenizer()
  const texts = Array.from({ length: 4 }, () => 'words and more '.repeat(providerLimits.estimateCharactersMax / 15))
  const shares: number[] = []
  while (shares.length < 5) {
    const before = performance.eventLoopUtilization()
    await Promise.all(texts.map((text) => countTokens(text)))
    shares.push(performance.eventLoopUtilization(before).utilization)
  }
  const least = Math.min(...shares) // Others on the machine only make it more.
  t.ok(least < 0.6, `${(100 * least).toFixed(0)} % of the time`)
})

t.test('workspaces take turns, however many texts one has counted', async (t) => {
  await loadTokenizer()
  const text = 'word '.repeat(providerLimits.estimateSliceCharacters)
  const ended: string[] = []
  const count = async (workspaceId: string) => {
    await countTokens(text, { workspaceId })
    ended.push(workspaceId)
  }
  await Promise.all(['hog', 'hog', 'hog', 'hog', 'hog', 'hog', 'hog', 'hog', 'other'].map(count))
  t.equal(ended[0], 'other')
})

t.test('a count whose caller leaves is not continued', async (t) => {
  const left = new AbortController()
  const counting = countTokens('word '.repeat(providerLimits.estimateSliceCharacters), { signal: left.signal })
  left.abort(new Error('left'))
  await t.rejects(counting, /left/)
})

t.test('texts are counted as one', async () => {
  const words = fc.tuple(fc.constantFrom('word ', '日本', 'é', '{"a":1}', '\n'), fc.nat({ max: 200 }))
  const text = fc.oneof(
    fc.string({ maxLength: 5 }),
    words.map(([word, times]) => word.repeat(times)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 10 }), async (texts) => {
      return (await countTokens(texts)) === (await countTokens(texts.join('')))
    }),
    propertyRuns(50),
  )
})

t.test('beyond what is read of them texts are counted by their lengths', async (t) => {
  const texts = Array.from({ length: 3 * 1_024 }, () => 'The quick brown fox. '.repeat(10))
  t.equal(await countTokens(texts), await countTokens(texts.join('')))
})

t.test('a turn of the event loop takes a bounded number of texts', async (t) => {
  await loadTokenizer()
  for (const text of ['', 'a', 'word '.repeat(1_000)]) {
    let [taken, takenBefore, most, isOver] = [0, 0, 0, false]
    const look = (): void => {
      most = Math.max(most, taken - takenBefore)
      takenBefore = taken
      if (!isOver) setImmediate(look)
    }
    const texts = function* (): Generator<string, void> {
      for (; taken < 50_000; taken += 1) yield text
    }
    setImmediate(look)
    await countTokens(texts())
    isOver = true
    t.equal(taken, 50_000)
    t.ok(most < 10_000, `${most} texts of ${text.length} characters in a turn`)
  }
})
