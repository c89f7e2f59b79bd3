import { asArray, asObject, asText, isObject, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import { messagesUpstream } from '../../../src/providers/anthropic/dialect.ts'
import type { UpstreamFormat } from '../../../src/providers/canonical/format.ts'
import { eventsOfParts, type ReplyEvent } from '../../../src/providers/canonical/reply.ts'
import type { Target } from '../../../src/providers/dialect/dialect.ts'
import { SseSplitter } from '../../../src/providers/dialect/sse.ts'
import { googleUpstream } from '../../../src/providers/google/dialect.ts'
import { chatUpstream } from '../../../src/providers/openai/dialect.ts'
import { type Surface, targetOf } from './targets.ts'

/** What of an answer every surface can express. */
export interface Content {
  readonly text: string
  readonly thinking: string
  readonly calls: readonly (readonly [name: string, given: unknown])[]
  readonly stop: string
  readonly tokens: { readonly prompt: number; readonly cached: number; readonly output: number } | null
}

type Tokens = Content['tokens']

const readers: { readonly [S in Exclude<Surface, 'responses'>]: readonly [UpstreamFormat, Target] } = {
  chat: [chatUpstream, targetOf('openai', 'gpt-5.1')],
  messages: [messagesUpstream, targetOf('anthropic', 'claude-sonnet-4-5')],
  gemini: [googleUpstream, targetOf('google', 'gemini-3.7-flash')],
}

const tokensOf = (usage: { promptTotal: number; cacheRead: number; outputTotal: number } | null): Tokens =>
  usage && { prompt: usage.promptTotal, cached: usage.cacheRead, output: usage.outputTotal }

const isOf =
  <T extends ReplyEvent['type']>(type: T) =>
  (event: ReplyEvent): event is Extract<ReplyEvent, { type: T }> =>
    event.type === type

const textOf = (events: readonly ReplyEvent[], type: 'text' | 'thinking'): string =>
  events
    .filter(isOf(type))
    .map(({ text }) => text)
    .join('')

const callsIn = (events: readonly ReplyEvent[]): Content['calls'] => {
  const calls: { name: string; given: string }[] = []
  for (const event of events) {
    if (event.type === 'tool_call') calls.push({ name: event.name, given: '' })
    const last = calls.at(-1)
    if (event.type === 'arguments' && last) last.given += event.text
  }
  return calls.map(({ name, given }) => [name, parseJson(given || '{}')])
}

/** A stop sequence is an end: not every surface names it. */
const contentOf = (events: readonly ReplyEvent[], tokens: Tokens): Content => {
  const stop = events.find(isOf('stop'))?.reason ?? 'none'
  return {
    text: textOf(events, 'text'),
    thinking: textOf(events, 'thinking'),
    calls: callsIn(events),
    stop: stop === 'stop_sequence' ? 'end' : stop,
    tokens,
  }
}

const joinedTexts = (items: readonly JsonObject[], type: string, member: string): string =>
  items
    .filter((item) => item['type'] === type)
    .flatMap((item) => asArray(item[member]).map(asObject))
    .map(({ text, refusal }) => asText(text) + asText(refusal))
    .join('')

const stopOfResponse = (response: JsonObject, calls: number): string => {
  if (response['status'] !== 'incomplete') return calls > 0 ? 'tool_calls' : 'end'
  return asObject(response['incomplete_details'])['reason'] === 'max_output_tokens' ? 'length' : 'filtered'
}

const contentOfResponse = (response: JsonObject): Content => {
  const items = asArray(response['output']).map(asObject)
  const calls = items.filter(({ type }) => type === 'function_call')
  const { input_tokens, input_tokens_details, output_tokens } = asObject(response['usage'])
  const cached = Number(asObject(input_tokens_details)['cached_tokens'] ?? 0)
  return {
    text: joinedTexts(items, 'message', 'content'),
    thinking: joinedTexts(items, 'reasoning', 'summary') + joinedTexts(items, 'reasoning', 'content'),
    calls: calls.map(({ name, arguments: given }) => [asText(name), parseJson(asText(given) || '{}')]),
    stop: stopOfResponse(response, calls.length),
    tokens: input_tokens === undefined ? null : { prompt: Number(input_tokens), cached, output: Number(output_tokens) },
  }
}

/** The data of each event; `[DONE]` is none. */
export const jsonEventsOf = (sse: string): readonly JsonObject[] => {
  const splitter = new SseSplitter()
  const last = splitter.push(Buffer.from(sse))
  const rest = splitter.end()
  return [...last, ...(rest === null ? [] : [rest])].map(({ data }) => parseJson(data ?? '')).filter(isObject)
}

/** Read by the reader of the format, as if it were an upstream's. Throws for what it does not understand. */
export const readAnswer = (surface: Surface, json: JsonObject): Content => {
  if (surface === 'responses') return contentOfResponse(json)
  const [format, target] = readers[surface]
  const reply = format.readReply(target, json)
  if ('fault' in reply) throw new Error(reply.fault)
  const events: readonly ReplyEvent[] = [
    ...eventsOfParts(reply.parts),
    { type: 'stop', reason: reply.stop, stopSequence: null },
  ]
  return contentOf(events, tokensOf(reply.usage))
}

const readResponsesStream = (sse: string): Content => {
  const { response } =
    jsonEventsOf(sse).findLast(({ type }) => /^response\.(completed|incomplete)$/.test(asText(type))) ?? {}
  return contentOfResponse(asObject(response))
}

export const readStream = (surface: Surface, sse: string): Content => {
  if (surface === 'responses') return readResponsesStream(sse)
  const [format, target] = readers[surface]
  const reader = format.openReader(target)
  const splitter = new SseSplitter()
  const events = [...splitter.push(Buffer.from(sse))].flatMap((event): readonly ReplyEvent[] => {
    if (event.data === null) return []
    const read = reader.read(event)
    if ('fault' in read) throw new Error(read.fault)
    return read
  })
  return contentOf(events, tokensOf(events.findLast(isOf('usage'))?.usage ?? null))
}
