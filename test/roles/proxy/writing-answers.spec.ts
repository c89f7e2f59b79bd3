import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { asArray, asObject, parseJson } from '../../../src/encoding/json.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { ask, callOf, startBench, stay } from './forwarding.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

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

t.test('an answer that waits for its reader keeps nothing of the parsed body of its request', async (t) => {
  const bench = await startBench(t)
  const model = 'google/gemini-2.5-flash'
  const made: WeakRef<object>[] = []
  function* bodySteps() {
    const parameters = { type: 'object' }
    made.push(new WeakRef(parameters))
    yield
    return { model, input: 'Hi', tools: [{ type: 'function', name: 'f', parameters }] }
  }
  const size = { bodyBytes: sharedLimits.turnBytes + 1, bodySteps }
  const answer = bench.dispatch(callOf(model, { surface: 'responses', ...size }), stay())[Symbol.asyncIterator]()
  t.match(await answer.next(), { value: { type: 'head' } })
  await turn()
  collect()
  t.ok(made.length > 0)
  t.same(
    made.map((parameters) => parameters.deref()),
    made.map(() => undefined),
  )
  const { value } = await answer.next()
  t.match(value?.type === 'bytes' && Buffer.from(value.bytes).toString(), '"name":"f"')
  await answer.next()
})
