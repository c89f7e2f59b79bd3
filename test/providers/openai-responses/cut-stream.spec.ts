import fc from 'fast-check'
import t from 'tap'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import { noUsage, type Usage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { ResponsesRelay } from '../../../src/providers/openai-responses/relay.ts'
import { countToolCalls } from '../../../src/providers/openai-responses/tool-calls.ts'
import { problemsOfResponsesEvent } from '../../reference/responses-contract.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import {
  askedOf,
  codeRun,
  created,
  eventsOf,
  fileSearch,
  image,
  messageEvents,
  messageOf,
  responseOf,
  search,
  sheetOf,
  sse,
  targetOf,
  usageOf,
} from './fixtures.ts'

type Calls = Usage['toolCalls']

const tools = [
  { type: 'web_search' },
  { type: 'code_interpreter', container: { type: 'auto' } },
  { type: 'image_generation', model: 'gpt-image-1' },
]

/** What of an item a stream tells before its end. */
const openingOf = ({ quality: _later, size: _too, action, ...item }: JsonObject): JsonObject => ({
  ...item,
  ...(item['type'] === 'web_search_call' ? { action } : {}),
  ...(item['type'] === 'image_generation_call' ? { result: null } : {}),
  status: 'in_progress',
})

const phasesOf = (item: JsonObject): readonly string[] => {
  const end = item['status'] === 'completed' ? ['completed'] : []
  switch (item['type']) {
    case 'code_interpreter_call':
      return ['in_progress', 'interpreting', ...end]
    case 'image_generation_call':
      return ['in_progress', 'generating', ...end]
    case 'message':
      return []
    default:
      return ['in_progress', 'searching', ...end]
  }
}

/** All events of an item, as OpenAI sends them. */
const itemEvents = (item: JsonObject, output_index: number): readonly JsonObject[] => [
  { type: 'response.output_item.added', output_index, item: openingOf(item) },
  ...phasesOf(item).map((phase) => ({ type: `response.${item['type']}.${phase}`, item_id: item['id'], output_index })),
  { type: 'response.output_item.done', output_index, item },
]

const cutAfter = (events: readonly JsonObject[], count: number): Calls => {
  const relay = new ResponsesRelay(targetOf(), askedOf({ tools }, true))
  relay.push(Buffer.from([...created(), ...events.slice(0, count)].map(sse).join('')))
  relay.end()
  return relay.delivered.toolCalls ?? {}
}

const callsAfterEach = (item: JsonObject): readonly Calls[] => {
  const events = itemEvents(item, 0)
  return events.map((_, index) => cutAfter(events, index + 1))
}

t.test('the events of these tests are those of the surface', async (t) => {
  const items = [search('ws_1'), codeRun('ci_1', 'cntr_1'), image('ig_1'), fileSearch('fs_1')]
  for (const event of eventsOf(items.flatMap(itemEvents)))
    t.strictSame(problemsOfResponsesEvent(event), [], String(event['type']))
})

t.test('a container costs from the moment it is there', async (t) => {
  const one = { code_interpreter: 1 }
  t.strictSame(callsAfterEach(codeRun('ci_1', 'cntr_1')), [one, one, one, one, one])
  t.strictSame(callsAfterEach(codeRun('ci_1', 'cntr_1', 'failed')), [one, one, one, one])
  const bare = { type: 'response.code_interpreter_call_code.delta', item_id: 'ci_1', output_index: 0, delta: 'print' }
  t.strictSame(cutAfter([bare, bare], 2), one, 'also where its item was not announced')
  const elsewhere = { type: 'response.mcp_call.completed', item_id: 'mcp_1', output_index: 0 }
  t.strictSame(cutAfter([elsewhere], 1), {})
})

t.test('one container is one charge, whoever tells of it', async (t) => {
  const runs = [codeRun('ci_1', 'cntr_1'), codeRun('ci_2', 'cntr_1'), codeRun('ci_3', 'cntr_2')]
  const opened = runs.map((run, index) => itemEvents(run, index)[0] ?? {})
  t.strictSame(cutAfter(opened, 2), { code_interpreter: 1 })
  t.strictSame(cutAfter(opened, 3), { code_interpreter: 2 })
  const [run] = runs
  const second = { type: 'response.code_interpreter_call.in_progress', item_id: 'ci_9', output_index: 9 }
  t.strictSame(cutAfter([...itemEvents(run ?? {}, 0), second], 9), { code_interpreter: 1 }, 'most likely the same')
})

t.test('a search or an image costs when it is complete', async (t) => {
  const one = { web_search: 1 }
  t.strictSame(callsAfterEach(search('ws_1')), [{}, {}, {}, one, one])
  t.strictSame(callsAfterEach(search('ws_1', 'open_page')), [{}, {}, {}, {}, {}])
  t.strictSame(callsAfterEach(search('ws_1', 'search', 'failed')), [{}, {}, {}, {}])
  const bare = { type: 'response.web_search_call.completed', item_id: 'ws_1', output_index: 0 }
  t.strictSame(cutAfter([bare], 1), one)
  t.strictSame(cutAfter([...itemEvents(search('ws_1'), 0), bare, bare], 9), one, 'told late, told twice')
})

t.test('the whole item corrects what was told of it', async (t) => {
  const { action: _untold, ...opening } = openingOf(search('ws_1'))
  const events = [
    { type: 'response.output_item.added', output_index: 0, item: opening },
    { type: 'response.web_search_call.completed', item_id: 'ws_1', output_index: 0 },
    { type: 'response.output_item.done', output_index: 0, item: search('ws_1', 'find_in_page') },
  ]
  t.strictSame(cutAfter(events, 2), { web_search: 1 })
  t.strictSame(cutAfter(events, 3), {})
})

t.test('an image whose kind is not told yet is the cheapest that was asked for', async (t) => {
  const picture = image('ig_1', { quality: 'high', size: '1024x1536', revised_prompt: '' })
  t.strictSame(callsAfterEach(picture).slice(2), [
    {},
    { 'image_generation_gpt-image-1_low_1024x1024': 1 },
    { 'image_generation_gpt-image-1_high_1024x1536': 1 },
  ])
})

const statusOf = (...statuses: readonly string[]) => fc.constantFrom(...statuses)

const someItem = fc.oneof(
  fc.record({
    make: fc.constant('search'),
    action: fc.constantFrom('search', 'open_page', 'find_in_page'),
    status: statusOf('completed', 'failed'),
  }),
  fc.record({
    make: fc.constant('code'),
    action: fc.constantFrom('cntr_1', 'cntr_2', 'cntr_3'),
    status: statusOf('completed', 'failed', 'incomplete'),
  }),
  fc.record({
    make: fc.constant('image'),
    action: fc.constantFrom('low', 'medium', 'high'),
    status: statusOf('completed', 'failed'),
  }),
  fc.record({ make: fc.constant('files'), action: fc.constant(''), status: statusOf('completed') }),
  fc.record({ make: fc.constant('message'), action: fc.constant(''), status: statusOf('completed') }),
)

const itemOf = ({ make, action, status }: { make: string; action: string; status: string }, at: number): JsonObject => {
  if (make === 'search') return search(`ws_${at}`, action, status)
  if (make === 'code') return codeRun(`ci_${at}`, action, status)
  if (make === 'files') return fileSearch(`fs_${at}`)
  if (make === 'message') return messageOf('hi', `msg_${at}`)
  const result = status === 'completed' ? 'iVBORw0KGgo=' : null
  return image(`ig_${at}`, { quality: action, size: '1024x1024', revised_prompt: '', status, result })
}

/** The events of items that go on at the same time, each item's own in their order. */
const interleaved = (lists: readonly (readonly JsonObject[])[], picks: readonly number[]): readonly JsonObject[] => {
  const queues = lists.map((list) => [...list])
  const order: JsonObject[] = []
  for (let turn = 0; queues.some((queue) => queue.length > 0); turn += 1) {
    const waiting = queues.filter((queue) => queue.length > 0)
    const next = waiting[(picks[turn % picks.length] ?? 0) % waiting.length]?.shift()
    if (next !== undefined) order.push(next)
  }
  return order
}

const sumOf = (calls: Calls): number => Object.values(calls).reduce((sum, count) => sum + count, 0)
const costOf = (toolCalls: Calls): bigint => chargeFor(sheetOf('openai/gpt-5'), { ...noUsage, toolCalls }).totalPicos

/** The items that had ended by then, and the containers that were there. */
const endedBy = (events: readonly JsonObject[], items: readonly JsonObject[]): readonly JsonObject[] =>
  items.filter((item, index) =>
    events.some(
      ({ type, output_index }) =>
        output_index === index &&
        (type === 'response.output_item.done' ||
          type === `response.${item['type']}.completed` ||
          item['type'] === 'code_interpreter_call'),
    ),
  )

t.test('a stream cut anywhere counts what was complete, and never more than the whole', async () => {
  fc.assert(
    fc.property(
      fc.array(someItem, { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat(), { minLength: 1 }),
      (made, picks) => {
        const items = made.map(itemOf)
        const events = interleaved(items.map(itemEvents), picks)
        const whole = countToolCalls({ tools }, items)
        return Array.from({ length: events.length + 1 }, (_, count) => count).every((count) => {
          const counted = cutAfter(events, count)
          const complete = countToolCalls({ tools }, endedBy(events.slice(0, count), items))
          return (
            sumOf(counted) === sumOf(complete) && costOf(counted) <= costOf(whole) && sumOf(counted) <= sumOf(whole)
          )
        })
      },
    ),
    propertyRuns(100),
  )
})

t.test('the end tells the same as all events without it', async () => {
  fc.assert(
    fc.property(fc.array(someItem, { maxLength: 6 }), (made) => {
      const items = made.map(itemOf)
      const events = [...items.flatMap(itemEvents), ...messageEvents(['hi'], items.length)]
      const end = { type: 'response.completed', response: responseOf(items, { usage: usageOf(1, 1) }) }
      const cut = cutAfter(events, events.length)
      return JSON.stringify(cut) === JSON.stringify(cutAfter([...events, end], events.length + 1))
    }),
  )
})
