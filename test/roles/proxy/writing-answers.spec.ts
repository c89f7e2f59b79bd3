import t from 'tap'
import { asArray, asObject, parseJson } from '../../../src/encoding/json.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { ask, startBench } from './forwarding.ts'

const textCharacters = 300_000
const toolsCount = 8

for (const directive of ['', ';no_usage=1'])
  t.test(`a large answer is written in turns${directive}`, async (t) => {
    const bench = await startBench(t)
    let turn = 0
    const next = (): void => {
      turn += 1
      counting = setImmediate(next)
    }
    let counting = setImmediate(next)
    t.teardown(() => {
      clearImmediate(counting)
    })
    /** The tools of each turn: their counting reads them as well, one in a turn. */
    const readIn = new Map<number, Set<number>>()
    const tools = Array.from({ length: toolsCount }, (_, place) => ({
      type: 'function',
      name: `f${place}`,
      parameters: {
        get description() {
          if (bench.sandbox.calls().length > 0) readIn.set(turn, (readIn.get(turn) ?? new Set()).add(place))
          return 'x'.repeat(textCharacters)
        },
      },
    }))
    const { text } = await ask(bench, `google/gemini-2.5-flash${directive}`, {
      surface: 'responses',
      body: { input: 'Hi', tools, messages: undefined },
      bodyBytes: Math.max(textCharacters * toolsCount, sharedLimits.turnBytes + 1),
    })
    t.equal(asArray(asObject(parseJson(text))['tools']).length, toolsCount)
    t.ok(readIn.size >= toolsCount, `in ${readIn.size} turns`)
    const most = Math.max(...[...readIn.values()].map(({ size }) => size))
    t.ok(most < toolsCount, `at most ${most} in one`)
  })
