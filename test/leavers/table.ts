import type { Test } from 'tap'
import type { Sandbox } from '../../sandbox/server.ts'
import { parseUsd } from '../../src/domain/money.ts'
import { chargeFor } from '../../src/domain/pricing/charge.ts'
import type { Surface as AnySurface } from '../../src/domain/routing/plan.ts'
import { usageOf } from '../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import type { UsageRecorded } from '../../src/events/types.ts'
import type { RoutedRequest } from '../../src/roles/dispatch.ts'
import { openEdge, openProxy } from '../adapters/nats/calls/open.ts'
import { NatsServer } from '../adapters/nats/server.ts'
import { type Bench, callOf, hear, startBench } from '../roles/proxy/forwarding.ts'

/** Those that answer in text. */
type Surface = Exclude<AnySurface, 'embeddings'>

export const moments = [
  'before head',
  'first byte',
  'at a tenth',
  'after a tool call',
  'at the last word',
  'at finish_reason',
] as const
export type Moment = (typeof moments)[number]

export interface Kind {
  readonly name: 'reasoning' | 'tool' | 'audio' | 'image' | 'plain'
  readonly surface: Surface
  readonly model: string
  readonly body: JsonObject
}

/** The charge by the provider's own figure must be within these. */
export interface Row {
  readonly surface: string
  readonly kind: Kind['name']
  readonly moment: Moment
  readonly ratio: number
  readonly least: number
  readonly most: number
  /** The charge by what the whole answer would have cost. */
  readonly share: number
}

export const layouts = ['together', 'apart'] as const
export type Layout = (typeof layouts)[number]

/** Opens benches whose edge and proxy are in one process, or on two connections to a NATS server. */
export const openLayout = async (t: Test, layout: Layout): Promise<() => Promise<Bench>> => {
  if (layout === 'together') return () => startBench(t)
  const server = await NatsServer.create()
  t.teardown(() => server.remove())
  let benches = 0
  return async () => {
    const bench = await startBench(t)
    benches += 1
    const name = `LEAVERS${benches}`
    const proxy = await openProxy(server.url, bench.dispatch, { name })
    const edge = await openEdge(server.url, { name })
    t.teardown(async () => {
      await edge.close()
      await proxy.serving.stop()
      await proxy.close()
    })
    return { ...bench, dispatch: edge.dispatch }
  }
}

const words = 'one two three four five six seven eight nine ten '.repeat(20)
const prompts: { readonly [S in Surface]: JsonObject } = {
  chat: { messages: [{ role: 'user', content: words }] },
  messages: { messages: [{ role: 'user', content: words }], max_tokens: 4_000 },
  responses: { input: words },
  gemini: { contents: [{ role: 'user', parts: [{ text: words }] }] },
}
const per_call = { web_search: '0.01', web_search_medium: '0.01', google_search: '0.01' }
const long = 'output_tokens=200;chunk_delay_ms=3'
const thinking = `${long};reasoning_tokens=300;first_chunk_delay_ms=300`

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }

export const kinds: readonly Kind[] = [
  { name: 'plain', surface: 'chat', model: `openai/gpt-4o;${long}`, body: {} },
  { name: 'plain', surface: 'messages', model: `anthropic/claude-haiku-4-5;${long}`, body: {} },
  { name: 'plain', surface: 'responses', model: `openai/gpt-4o;${long}`, body: {} },
  { name: 'plain', surface: 'chat', model: `google/gemini-2.0-flash;${long}`, body: {} },
  { name: 'plain', surface: 'gemini', model: `google/gemini-2.0-flash;${long}`, body: {} },
  { name: 'reasoning', surface: 'chat', model: `openai/gpt-5;${thinking}`, body: { reasoning_effort: 'high' } },
  {
    name: 'reasoning',
    surface: 'messages',
    model: `anthropic/claude-sonnet-4-5;${thinking}`,
    body: { thinking: { type: 'enabled', budget_tokens: 2_000 } },
  },
  {
    name: 'reasoning',
    surface: 'responses',
    model: `openai/gpt-5;${thinking}`,
    body: { reasoning: { effort: 'high' } },
  },
  {
    name: 'reasoning',
    surface: 'chat',
    model: `google/gemini-2.5-pro;${thinking}`,
    body: { reasoning_effort: 'high' },
  },
  { name: 'tool', surface: 'chat', model: `openai/gpt-4o-search-preview;${long}`, body: {} },
  {
    name: 'tool',
    surface: 'messages',
    model: `anthropic/claude-haiku-4-5;${long}`,
    body: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  },
  { name: 'tool', surface: 'responses', model: `openai/gpt-4o;${long}`, body: { tools: [{ type: 'web_search' }] } },
  {
    name: 'audio',
    surface: 'chat',
    model: `openai/gpt-4o-audio;${long}`,
    body: { modalities: ['text', 'audio'], audio: { voice: 'ash', format: 'pcm16' } },
  },
  {
    name: 'image',
    surface: 'chat',
    model: `openai/gpt-4o;${long}`,
    body: { messages: [{ role: 'user', content: [{ type: 'text', text: words }, image] }] },
  },
]

/** Of which a tenth must cost at most 15 % of the whole. */
export const longAnswer: Kind = {
  name: 'plain',
  surface: 'chat',
  model: 'openai/gpt-4o;output_tokens=2000;chunk_delay_ms=1',
  body: {},
}

export const shareOfTenthMax = 0.15

/** Chunks behind the last word: the finish reason, the usage, the closing event, by surface. */
const tails: { readonly [S in Surface]: number } = { chat: 3, messages: 3, responses: 4, gemini: 1 }

const callFor = ({ surface, model, body }: Kind, before: string): RoutedRequest => {
  const named = before === '' ? model : `${model};${before}`
  const { messages: _messages, ...rest } = callOf(named, { surface, stream: true, body: prompts[surface] }).body
  const call = callOf(named, { surface, stream: true })
  const candidates = call.candidates.map((candidate) => ({ ...candidate, sheet: { ...candidate.sheet, per_call } }))
  return { ...call, candidates, body: { ...rest, ...prompts[surface], ...body } }
}

const lastCall = (sandbox: Sandbox): ReturnType<Sandbox['calls']>[number] => {
  const call = sandbox.calls().at(-1)
  if (call === undefined) throw new Error('the upstream was not called')
  return call
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const closed = async ({ inFlight, sandbox, log }: Bench): Promise<UsageRecorded> => {
  await inFlight.idle()
  while (sandbox.calls().some(({ outcome }) => outcome === 'open')) await pause(5)
  const fact = log.events.at(-1)
  if (fact?.type !== 'UsageRecorded') throw new Error(`no bill: ${JSON.stringify(fact?.data)}`)
  return fact.data
}

const thresholdOf = (moment: Moment, { surface }: Kind, chunks: number): number => {
  switch (moment) {
    case 'before head':
    case 'first byte':
      return 1
    case 'at a tenth':
      return Math.ceil(chunks / 10)
    case 'after a tool call':
      return Math.ceil(chunks / 3)
    case 'at the last word':
      return chunks - tails[surface]
    case 'at finish_reason':
      return chunks - tails[surface] + 1
  }
}

/** The client leaves at the moment; resolves with the charge by the provider's own figure. */
const leaveAt = async (
  bench: Bench,
  kind: Kind,
  moment: Moment,
  whole: { chunks: number; usd: string },
): Promise<Row> => {
  const client = new AbortController()
  const called = bench.sandbox.totals().calls
  const call = callFor(kind, moment === 'before head' && !kind.model.includes('first_chunk') ? 'delay_ms=150' : '')
  const heard = hear(bench.dispatch(call, client.signal))
  while (bench.sandbox.totals().calls === called) await pause(2)
  const threshold = thresholdOf(moment, kind, whole.chunks)
  if (moment === 'before head') await pause(50)
  else while (lastCall(bench.sandbox).chunksWritten < threshold) await pause(1)
  client.abort()
  await heard
  const bill = await closed(bench)
  const { billed } = lastCall(bench.sandbox)
  const [candidate] = call.candidates
  if (billed === null || candidate === undefined) throw new Error('the upstream has no figure of its own')
  const { prompt, output, reasoning, audioOut } = billed
  const own = usageOf({ total: prompt }, { total: output, reasoning, audio: audioOut }, bill.usage.toolCalls)
  const ratio = Number(parseUsd(bill.total)) / Number(chargeFor(candidate.sheet, own).totalPicos)
  const isEstimate = bill.source === 'estimated' && kind.name === 'reasoning'
  const [least, most] = isEstimate ? [0.75, 1.35] : [0.9, 1.1]
  const share = Number(parseUsd(bill.total)) / Number(parseUsd(whole.usd))
  const surface = `${kind.surface} on ${kind.model.slice(0, kind.model.indexOf('/'))}`
  return { surface, kind: kind.name, moment, ratio, least, most, share }
}

export const measureLeaving = async (bench: Bench, kind: Kind, wanted: readonly Moment[]): Promise<readonly Row[]> => {
  await hear(bench.dispatch(callFor(kind, ''), new AbortController().signal))
  const { total } = await closed(bench)
  const whole = { chunks: lastCall(bench.sandbox).chunksWritten, usd: total }
  const rows: Row[] = []
  for (const moment of wanted) rows.push(await leaveAt(bench, kind, moment, whole))
  return rows
}

export const isWithin = ({ ratio, least, most }: Row): boolean => ratio >= least && ratio <= most
