import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Surface } from '../../../src/domain/routing/plan.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { UsageRecorded } from '../../../src/events/types.ts'
import { beginStream, startHostileUpstream } from '../../support/hostile-upstream.ts'
import { namedEvent } from '../../support/scripted-upstream.ts'
import { billOf, callOf, type Heard, hear, startBench, stay } from './forwarding.ts'

const text = 'one two three four five six seven eight nine ten '.repeat(10)
/** By the tokenizer. */
const textTokens = 101
const promptTokens = 12

type Figures = readonly [prompt: number, output: number]

const dataEvent = (json: JsonObject): string => `data: ${JSON.stringify(json)}\n\n`

const chatUsage = ([prompt, output]: Figures): JsonObject => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  total_tokens: prompt + output,
})
const chunk = (delta: JsonObject, finishReason: string | null = null, usage?: JsonObject): string =>
  dataEvent({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finishReason }],
    usage,
  })
const chatEnd = (figures: Figures): string =>
  chunk({}, 'stop') +
  dataEvent({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [],
    usage: chatUsage(figures),
  }) +
  'data: [DONE]\n\n'
const completion = (message: JsonObject, figures: Figures, usage: JsonObject = {}): string =>
  JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' }],
    usage: { ...chatUsage(figures), ...usage },
  })

const messageUsage = ([prompt, output]: Figures): JsonObject => ({ input_tokens: prompt, output_tokens: output })
const messageOf = (figures: Figures): string =>
  JSON.stringify({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: messageUsage(figures),
  })
const textDelta = namedEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
const messageEnd = (figures?: Figures): string =>
  namedEvent({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    ...(figures === undefined ? {} : { usage: messageUsage(figures) }),
  })
const messageStream = (...events: readonly string[]): string =>
  [
    namedEvent({ type: 'message_start', message: { id: 'msg_1', usage: messageUsage([promptTokens, 1]) } }),
    namedEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...events,
    namedEvent({ type: 'message_stop' }),
  ].join('')

const responseOf = (output: readonly JsonObject[], figures: Figures): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output,
  usage: messageUsage(figures),
})
const messageItem = { type: 'message', id: 'i', role: 'assistant', content: [{ type: 'output_text', text }] }
const responseStream = (said: string, response: JsonObject, end = 'completed'): string =>
  namedEvent({ type: 'response.created', response: { id: 'resp_1' } }) +
  (said === '' ? '' : namedEvent({ type: 'response.output_text.delta', output_index: 0, delta: said })) +
  namedEvent({ type: `response.${end}`, response })

const googleAnswer = (parts: readonly JsonObject[], [prompt, output]: Figures, isEnd = true): JsonObject => ({
  responseId: 'r',
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(isEnd ? { finishReason: 'STOP' } : {}) }],
  usageMetadata: { promptTokenCount: prompt, candidatesTokenCount: output, totalTokenCount: prompt + output },
})

interface Case {
  readonly surface: Surface
  readonly provider: string
  /** What the upstream answers: an object, or events. */
  readonly answer: string
}

const isStream = ({ answer }: Case): boolean => !answer.startsWith('{')

const askFor = async (t: Test, asked: Case): Promise<{ readonly heard: Heard; readonly bill: UsageRecorded }> => {
  const { surface, provider, answer } = asked
  const stream = isStream(asked)
  const serve = (response: ServerResponse): void => {
    if (stream) beginStream(response)
    else response.setHeader('content-type', 'application/json')
    response.end(answer)
  }
  const baseUrl = await startHostileUpstream(t, { m: serve, undefined: serve })
  const bench = await startBench(t, { baseUrl })
  const { messages, ...rest } = callOf(`${provider}/m`, { stream }).body
  const body = {
    ...rest,
    ...(surface === 'responses' ? { input: 'one two three' } : { messages }),
    ...(surface === 'messages' ? { max_tokens: 1000 } : {}),
    ...(surface === 'chat' && stream ? { stream_options: { include_usage: true } } : {}),
  }
  const heard = await hear(bench.dispatch(callOf(`${provider}/m`, { surface, stream, body }), stay()))
  await bench.inFlight.idle()
  return { heard, bill: billOf(t, bench) }
}

const zero: Figures = [0, 0]
const noOutput: Figures = [promptTokens, 0]
const said = chunk({ role: 'assistant', content: text })
const [half] = [text.slice(0, text.length / 2)]

/** By what is wrong with them; `input` where it can be right. */
const contradictions: Readonly<Record<string, Case & { readonly input?: number }>> = {
  'chat, whole, zeros': { surface: 'chat', provider: 'openai', answer: completion({ content: text }, zero) },
  'chat, whole, no output': {
    surface: 'chat',
    provider: 'openai',
    answer: completion({ content: text }, noOutput),
    input: promptTokens,
  },
  'chat, whole, no output beside a tool call': {
    surface: 'chat',
    provider: 'openai',
    answer: completion(
      { tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }] },
      noOutput,
    ),
    input: promptTokens,
  },
  'chat, stream, zeros': { surface: 'chat', provider: 'openai', answer: said + chatEnd(zero) },
  'chat, stream, no output': {
    surface: 'chat',
    provider: 'openai',
    answer: said + chatEnd(noOutput),
    input: promptTokens,
  },
  'chat, stream, usage of the first words': {
    surface: 'chat',
    provider: 'openai',
    answer:
      chunk({ role: 'assistant', content: 'one' }, null, chatUsage([promptTokens, 1])) +
      chunk({ content: text.slice(3) }) +
      chunk({}, 'stop') +
      'data: [DONE]\n\n',
    input: promptTokens,
  },
  'chat, stream without an end, usage of the first words': {
    surface: 'chat',
    provider: 'openai',
    answer: chunk({ content: 'one' }, null, chatUsage([promptTokens, 1])) + chunk({ content: text.slice(3) }, 'stop'),
    input: promptTokens,
  },
  'chat on anthropic, whole': {
    surface: 'chat',
    provider: 'anthropic',
    answer: messageOf(noOutput),
    input: promptTokens,
  },
  'chat on anthropic, stream': {
    surface: 'chat',
    provider: 'anthropic',
    answer: messageStream(textDelta, messageEnd(noOutput)),
    input: promptTokens,
  },
  'chat on google, whole': {
    surface: 'chat',
    provider: 'google',
    answer: JSON.stringify(googleAnswer([{ text }], noOutput)),
    input: promptTokens,
  },
  'chat on google, stream': {
    surface: 'chat',
    provider: 'google',
    answer: dataEvent(googleAnswer([{ text }], noOutput)),
    input: promptTokens,
  },
  'messages, whole, zeros': { surface: 'messages', provider: 'anthropic', answer: messageOf(zero) },
  'messages, whole, no output': {
    surface: 'messages',
    provider: 'anthropic',
    answer: messageOf(noOutput),
    input: promptTokens,
  },
  'messages, stream, no output': {
    surface: 'messages',
    provider: 'anthropic',
    answer: messageStream(textDelta, messageEnd(noOutput)),
    input: promptTokens,
  },
  'messages, stream, usage before the text': {
    surface: 'messages',
    provider: 'anthropic',
    answer: messageStream(
      namedEvent({ type: 'message_delta', delta: {}, usage: messageUsage([promptTokens, 1]) }),
      textDelta,
      messageEnd(),
    ),
    input: promptTokens,
  },
  'messages on openai, whole': {
    surface: 'messages',
    provider: 'openai',
    answer: completion({ content: text }, noOutput),
    input: promptTokens,
  },
  'messages on openai, stream': {
    surface: 'messages',
    provider: 'openai',
    answer: said + chatEnd(noOutput),
    input: promptTokens,
  },
  'responses, whole, zeros': {
    surface: 'responses',
    provider: 'openai',
    answer: JSON.stringify(responseOf([messageItem], zero)),
  },
  'responses, whole, no output': {
    surface: 'responses',
    provider: 'xai',
    answer: JSON.stringify(responseOf([messageItem], noOutput)),
    input: promptTokens,
  },
  'responses, stream, zeros': {
    surface: 'responses',
    provider: 'openai',
    answer: responseStream(text, responseOf([messageItem], zero)),
  },
  'responses, stream, no output, and its text in the last event alone': {
    surface: 'responses',
    provider: 'openai',
    answer: responseStream('', responseOf([messageItem], noOutput)),
    input: promptTokens,
  },
}

const toldOutput = /"(?:completion|output)_tokens":(\d+)/g

for (const [name, asked] of Object.entries(contradictions))
  t.test(`${name}: the output is counted`, async (t) => {
    const { heard, bill } = await askFor(t, asked)
    t.equal(heard.error, null)
    t.equal(bill.source, 'estimated')
    t.equal(bill.usage.outputTotal, textTokens)
    t.ok(bill.usage.promptTotal > 0)
    if (asked.input !== undefined) t.equal(bill.usage.promptTotal, asked.input, 'the input is right')
    const told = [...heard.text.matchAll(toldOutput)].at(-1)?.[1]
    // The relayed end of a message has been given out by then.
    if (!name.startsWith('messages, stream, no'))
      t.equal(told, String(bill.usage.outputTotal), 'and told to the client')
  })

t.test('a failed response that tells zeros is counted', async (t) => {
  const answer = responseStream(text, { ...responseOf([], zero), status: 'failed', error: { code: 'x' } }, 'failed')
  const { bill } = await askFor(t, { surface: 'responses', provider: 'openai', answer })
  t.match(bill, { outcome: 'interrupted', source: 'estimated', usage: { outputTotal: textTokens } })
})

const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }

/** Odd, and right. */
const right: Readonly<Record<string, Case & { readonly output: number }>> = {
  'chat, tool calls alone': {
    surface: 'chat',
    provider: 'openai',
    answer: completion({ tool_calls: [call] }, [promptTokens, 9]),
    output: 9,
  },
  'chat, an empty answer': {
    surface: 'chat',
    provider: 'openai',
    answer: completion({ content: '' }, noOutput),
    output: 0,
  },
  'chat, an empty answer, stream': {
    surface: 'chat',
    provider: 'openai',
    answer: chunk({ role: 'assistant', content: '' }) + chatEnd(noOutput),
    output: 0,
  },
  'chat, hidden reasoning alone': {
    surface: 'chat',
    provider: 'openai',
    answer: completion({ content: '' }, [promptTokens, 64], { completion_tokens_details: { reasoning_tokens: 64 } }),
    output: 64,
  },
  'chat, reasoning that xAI counts apart': {
    surface: 'chat',
    provider: 'xai',
    answer: completion({ reasoning_content: text }, [promptTokens, 0], {
      total_tokens: promptTokens + 88,
      completion_tokens_details: { reasoning_tokens: 88 },
    }),
    output: 88,
  },
  'chat, audio': {
    surface: 'chat',
    provider: 'openai',
    answer: completion({ audio: { id: 'a', data: 'AAAA', transcript: text } }, [promptTokens, 33], {
      completion_tokens_details: { audio_tokens: 30, text_tokens: 3 },
    }),
    output: 33,
  },
  'chat, audio without a transcript and without output': {
    surface: 'chat',
    provider: 'openai',
    answer: completion({ audio: { id: 'a', data: 'AAAA' } }, noOutput),
    output: 0,
  },
  'chat, fewer tokens than we would count': {
    surface: 'chat',
    provider: 'openai',
    answer: completion({ content: text }, [promptTokens, 5]),
    output: 5,
  },
  'chat, fewer tokens than we would count, stream': {
    surface: 'chat',
    provider: 'openai',
    answer: said + chatEnd([promptTokens, 5]),
    output: 5,
  },
  'chat, usage on each chunk with words': {
    surface: 'chat',
    provider: 'openai',
    answer:
      chunk({ content: half }, null, chatUsage([promptTokens, 2])) +
      chunk({ content: text.slice(half.length) }, null, chatUsage([promptTokens, 7])) +
      chunk({ content: '' }, 'stop') +
      'data: [DONE]\n\n',
    output: 7,
  },
  'chat, all of the usage on the first chunk': {
    surface: 'chat',
    provider: 'openai',
    answer:
      chunk({ content: 'one' }, null, chatUsage([promptTokens, 500])) +
      chunk({ content: text }, 'stop') +
      'data: [DONE]\n\n',
    output: 500,
  },
  'responses, a function call': {
    surface: 'responses',
    provider: 'openai',
    answer: JSON.stringify(
      responseOf([{ type: 'function_call', id: 'i', name: 'f', arguments: '{}' }], [promptTokens, 9]),
    ),
    output: 9,
  },
  'responses, hidden reasoning alone': {
    surface: 'responses',
    provider: 'openai',
    answer: JSON.stringify(responseOf([{ type: 'reasoning', id: 'i', summary: [] }], [promptTokens, 64])),
    output: 64,
  },
  'responses, nothing said': {
    surface: 'responses',
    provider: 'openai',
    answer: responseStream('', responseOf([], noOutput)),
    output: 0,
  },
  'messages, fewer tokens than we would count': {
    surface: 'messages',
    provider: 'anthropic',
    answer: messageStream(textDelta, messageEnd([promptTokens, 5])),
    output: 5,
  },
}

for (const [name, asked] of Object.entries(right))
  t.test(`${name}: what is reported is billed to the digit`, async (t) => {
    const { heard, bill } = await askFor(t, asked)
    t.equal(heard.error, null)
    t.match(bill, {
      source: 'reported',
      outcome: 'completed',
      usage: { promptTotal: promptTokens, outputTotal: asked.output },
    })
    if (!isStream(asked)) t.same(JSON.parse(heard.text), JSON.parse(asked.answer))
  })
