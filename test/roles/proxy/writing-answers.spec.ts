import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { asArray, asObject, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { ask, type Bench, billOf, callOf, startBench, stay } from './forwarding.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const textCharacters = 300_000
const toolsCount = 8

interface ToolReads {
  /** Of each tool: whether it was read once more when the bill was stored. */
  readonly billed: readonly boolean[]
  /** The tools that were read in each turn of the event loop: their counting reads them as well, one in a turn. */
  readonly inTurns: ReadonlyMap<number, ReadonlySet<number>>
  readonly tools: readonly object[]
}

/** Large tools, which note when they are read once the upstream was called. */
const watchTools = (t: Test, bench: Bench): ToolReads => {
  let turn = 0
  const next = (): void => {
    turn += 1
    counting = setImmediate(next)
  }
  let counting = setImmediate(next)
  t.teardown(() => {
    clearImmediate(counting)
  })
  const inTurns = new Map<number, Set<number>>()
  const billed: boolean[] = []
  const tools = Array.from({ length: toolsCount }, (_, place) => ({
    type: 'function',
    name: `f${place}`,
    parameters: {
      get description() {
        billed[place] = bench.log.events.length > 0
        if (bench.sandbox.calls().length > 0) inTurns.set(turn, (inTurns.get(turn) ?? new Set()).add(place))
        return 'x'.repeat(textCharacters)
      },
    },
  }))
  return { inTurns, billed, tools }
}

const writtenIn = (text: string): readonly JsonObject[] =>
  text.startsWith('{')
    ? [asObject(parseJson(text))]
    : text
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => asObject(asObject(parseJson(line.slice(6)))['response']))
        .filter((response) => 'tools' in response)

for (const [model, stream] of [
  ['google/gemini-2.5-flash', false],
  ['google/gemini-2.5-flash;no_usage=1', false],
  ['google/gemini-2.5-flash', true],
  ['google/gemini-2.5-flash;no_usage=1', true],
  ['anthropic/claude-sonnet-4-5', true],
] as const)
  t.test(`what repeats the tools is written in turns: ${model}${stream ? ', a stream' : ''}`, async (t) => {
    const bench = await startBench(t)
    const { inTurns, billed, tools } = watchTools(t, bench)
    const { text, error } = await ask(bench, model, {
      surface: 'responses',
      stream,
      body: { input: 'Hi', tools, messages: undefined },
      bodyBytes: Math.max(textCharacters * toolsCount, sharedLimits.turnBytes + 1),
    })
    t.equal(error, null)
    t.strictSame(
      writtenIn(text).map((response) => asArray(response['tools']).length),
      (stream ? ['created', 'in_progress', 'completed'] : ['whole']).map(() => toolsCount),
    )
    t.ok(inTurns.size >= toolsCount, `in ${inTurns.size} turns`)
    const most = Math.max(...[...inTurns.values()].map(({ size }) => size))
    t.ok(most < toolsCount, `at most ${most} in one`)
    if (!stream) t.ok(billed.at(-1), 'the bill does not wait for it')
  })

const parameters = { type: 'object', properties: {} }
const bodies = {
  chat: {
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
  },
  messages: {
    max_tokens: 16,
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [{ name: 'f', input_schema: parameters }],
  },
  responses: { input: 'Hi', tools: [{ type: 'function', name: 'f', parameters }] },
  gemini: {
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    tools: [
      { functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } } }] },
    ],
  },
}

/** Every object and list in it. */
const objectsIn = (value: unknown): readonly object[] =>
  typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(objectsIn)] : []

for (const surface of ['chat', 'messages', 'responses', 'gemini'] as const)
  for (const model of ['openai/gpt-4o-mini', 'google/gemini-2.5-flash', 'anthropic/claude-sonnet-4-5'])
    t.test(`a stream that waits for its reader keeps nothing of the parsed body: ${surface}, ${model}`, async (t) => {
      const bench = await startBench(t)
      const made: WeakRef<object>[] = []
      function* bodySteps() {
        const body: JsonObject = { model, stream: true, ...structuredClone<JsonObject>(bodies[surface]) }
        made.push(...objectsIn(body).map((each) => new WeakRef(each)))
        yield
        return body
      }
      const size = { bodyBytes: sharedLimits.turnBytes + 1, bodySteps }
      const call = callOf(model, { surface, stream: true, ...size })
      const answer = bench.dispatch(call, stay())[Symbol.asyncIterator]()
      t.match(await answer.next(), { value: { type: 'head' } })
      t.match(await answer.next(), { value: { type: 'bytes' } })
      await turn()
      collect()
      t.ok(made.length > 0)
      t.same(
        made.map((each) => each.deref()).filter((each) => each !== undefined),
        [],
      )
      while ((await answer.next()).done !== true);
      t.equal(billOf(t, bench).outcome, 'completed')
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
