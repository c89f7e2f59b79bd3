import t from 'tap'
import type { JsonObject } from '../../src/encoding/json.ts'
import { finishSteps } from '../../src/encoding/steps.ts'
import { buildInSteps, type Target, type UpstreamDialect } from '../../src/providers/dialect/dialect.ts'
import { dialects } from '../../src/providers/dialects.ts'
import { worstChats, worstMessages, worstResponses } from '../support/worst-bodies.ts'
import { targetOf as anthropic } from './anthropic/target.ts'
import { targetOf as google } from './google/target.ts'
import { targetOf as openai } from './openai/target.ts'

const inCloud = (dialect: keyof typeof dialects, model?: string): Target => {
  const target = openai('openai', model)
  return { ...target, provider: { ...target.provider, dialect } }
}

const targets: readonly Target[] = [
  openai(),
  openai('gemini'),
  anthropic(),
  google(),
  inCloud('azure'),
  inCloud('vertex', 'claude-sonnet-4-5'),
  inCloud('vertex'),
  inCloud('bedrock'),
  inCloud('bedrock', 'anthropic.claude-sonnet-4-5'),
]

const itemsPerStep = 1_000
const items = 5 * itemsPerStep

const inTurn = (turn: (place: number) => JsonObject): readonly JsonObject[] =>
  Array.from({ length: items }, (_, place) => turn(place))

const questionsAndAnswers = (answerer: 'assistant' | 'model') => (place: number) => ({
  role: place % 2 === 0 ? 'user' : answerer,
  ...(answerer === 'model' ? { parts: [{ text: `${place}` }] } : { content: `${place}` }),
})

const callsAndResults = (place: number): JsonObject =>
  place % 2 === 0
    ? { type: 'function_call', call_id: `c${place}`, name: 'f', arguments: '{}' }
    : { type: 'function_call_output', call_id: `c${place - 1}`, output: 'x' }

const conversations: Readonly<
  Record<'chat' | 'messages' | 'responses' | 'gemini', { readonly member: string; readonly body: JsonObject }>
> = {
  chat: { member: 'messages', body: { model: 'm', messages: inTurn(questionsAndAnswers('assistant')) } },
  messages: {
    member: 'messages',
    body: { model: 'm', max_tokens: 9, messages: inTurn(questionsAndAnswers('assistant')) },
  },
  responses: { member: 'input', body: { model: 'm', input: inTurn(callsAndResults) } },
  gemini: { member: 'contents', body: { contents: inTurn(questionsAndAnswers('model')) } },
}

const asked = (body: JsonObject) => ({ requestId: 'r', body, stream: true, outputCap: null })

const nameOf = (surface: string, { provider, upstreamModel }: Target): string =>
  `${surface} to ${provider.dialect} ${provider.profile} ${upstreamModel}`

const watchedItems = (body: JsonObject, member: string, onRead: () => void): readonly object[] => {
  const get = (item: object, name: string | symbol): unknown => {
    onRead()
    return Reflect.get(item, name)
  }
  return (body[member] as readonly object[]).map((item) => new Proxy(item, { get }))
}

/** The reads of the items' members from one step to the next. */
const readsInSteps = (
  dialect: UpstreamDialect,
  target: Target,
  body: JsonObject,
  member: string,
): readonly number[] => {
  let reads = 0
  const watched = watchedItems(body, member, () => {
    reads += 1
  })
  const counts: number[] = []
  const steps = buildInSteps(dialect, target, asked({ ...body, [member]: watched }))
  for (let isOver: boolean | undefined = false; isOver !== true; ) {
    isOver = steps.next().done
    counts.push(reads)
    reads = 0
  }
  return counts
}

t.test('a long conversation is built in steps, none of which has most of the work', async (t) => {
  for (const [surface, { member, body }] of Object.entries(conversations))
    for (const target of targets) {
      const dialect = dialects[target.provider.dialect][surface as keyof typeof conversations]
      if (dialect.buildSteps === undefined) continue
      const reads = readsInSteps(dialect, target, body, member)
      const total = reads.reduce((sum, count) => sum + count, 0)
      if (surface === 'gemini' && reads.length === 2) continue // To Google's own models its contents are only copied.
      const name = nameOf(surface, target)
      t.ok(Math.max(...reads) < 0.6 * total, `${name}: ${Math.max(...reads)} of ${total} reads in a step`)
      t.ok(reads.length > items / itemsPerStep, `${name}: ${reads.length} steps`)
    }
})

const openaiTarget = openai('openai', 'gpt-6-astra')
const reasoning: Target = {
  ...openaiTarget,
  provider: { ...openaiTarget.provider, baseUrl: 'https://api.openai.com/v1' },
}
const functions = {
  chat: { type: 'function', function: { name: 'f' } },
  messages: { name: 'f', input_schema: { type: 'object' } },
  gemini: { functionDeclarations: [{ name: 'f' }] },
}

t.test('functions of a model that reasons choose the API without the texts of the conversation', async (t) => {
  for (const surface of ['chat', 'messages', 'gemini'] as const) {
    const { member, body } = conversations[surface]
    const withFunctions = { ...body, tools: [functions[surface]] }
    const dialect = dialects.openai[surface]
    t.match(dialect.buildRequest(reasoning, asked(withFunctions)).url, /[/]responses$/, surface)
    const longest = Math.max(...readsInSteps(dialect, reasoning, withFunctions, member))
    t.ok(longest <= 4 * items, `${surface}: ${longest} reads in a step`)
    let reads = 0
    const watched = watchedItems(body, member, () => {
      reads += 1
    })
    dialect.openRelay(reasoning, asked({ ...withFunctions, [member]: watched }))
    const each = surface === 'messages' ? 2 : 0 // Of a message its role and content: it may change the tools.
    t.equal(reads, each * items, surface)
  }
})

t.test('what is built in steps is what is built at once', async (t) => {
  const worst = { chat: worstChats, messages: worstMessages, responses: worstResponses, gemini: () => ({}) } as const
  for (const [surface, { body }] of Object.entries(conversations))
    for (const target of targets) {
      const name = surface as keyof typeof conversations
      const dialect = dialects[target.provider.dialect][name]
      const others = Object.values<string>(worst[name](1_500)).map((text) => JSON.parse(text) as JsonObject)
      for (const each of [body, ...others]) {
        const inSteps = JSON.stringify(finishSteps(buildInSteps(dialect, target, asked(each))))
        t.ok(inSteps === JSON.stringify(dialect.buildRequest(target, asked(each))), nameOf(surface, target))
      }
    }
})
