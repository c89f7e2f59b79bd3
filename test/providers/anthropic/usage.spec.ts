import t from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import { noUsage, type Usage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import {
  finalUsageOnWire,
  mergeUsage,
  messagesUsageOnWire,
  readMessagesUsage,
} from '../../../src/providers/anthropic/usage.ts'
import { opusSheet, sheet } from './target.ts'

interface Line {
  readonly name: string
  /** What the provider says: of the whole, or at the start and at the end of a stream. */
  readonly reportedUsage: readonly JsonObject[]
  /** The members of the usage that are not zero, and the charge, both worked out by hand. */
  readonly usage: Partial<Usage>
  readonly charge: string
  readonly prices?: typeof sheet
}

const table: readonly Line[] = [
  {
    name: 'plain',
    reportedUsage: [{ input_tokens: 12, output_tokens: 7 }],
    usage: { inputUncached: 12, outputTotal: 7, promptTotal: 12 },
    charge: '0.000141', // 12 × 3 + 7 × 15 = 36 + 105
  },
  {
    name: 'the tier and the region of the answer; the standard ones are not noted',
    reportedUsage: [
      { input_tokens: 12, service_tier: 'standard', inference_geo: 'us' },
      { output_tokens: 7, service_tier: 'priority' },
    ],
    usage: { inputUncached: 12, outputTotal: 7, promptTotal: 12, serviceTier: 'priority', inferenceGeo: 'us' },
    charge: '0.000141', // neither has a price in this sheet
  },
  {
    name: 'a global region, and fast inference',
    reportedUsage: [
      { input_tokens: 12, output_tokens: 7, service_tier: 'standard', inference_geo: 'global', speed: 'fast' },
    ],
    usage: { inputUncached: 12, outputTotal: 7, promptTotal: 12, serviceTier: 'fast' },
    charge: '0.000141',
  },
  {
    name: 'the input leaves cache reads and writes out',
    reportedUsage: [
      {
        input_tokens: 100,
        cache_read_input_tokens: 600,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
        output_tokens: 50,
      },
    ],
    usage: {
      inputUncached: 100,
      cacheRead: 600,
      cacheWrite5m: 200,
      cacheWrite1h: 100,
      outputTotal: 50,
      promptTotal: 1000,
    },
    charge: '0.00258', // 300 + 600 × 0.3 + 200 × 3.75 + 100 × 6 + 750 = 300 + 180 + 750 + 600 + 750
  },
  {
    name: 'without a split all is written for five minutes',
    reportedUsage: [{ input_tokens: 100, cache_creation_input_tokens: 300, cache_creation: null, output_tokens: 50 }],
    usage: { inputUncached: 100, cacheWrite5m: 300, outputTotal: 50, promptTotal: 400 },
    charge: '0.002175', // 300 + 300 × 3.75 + 750
  },
  {
    name: 'a split without its total',
    reportedUsage: [
      {
        input_tokens: 1,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
        output_tokens: 1,
      },
    ],
    usage: { inputUncached: 1, cacheWrite5m: 20, cacheWrite1h: 10, outputTotal: 1, promptTotal: 31 },
    charge: '0.000153', // 3 + 75 + 60 + 15
  },
  {
    name: 'a split above its total does not raise it',
    reportedUsage: [
      {
        input_tokens: 1,
        cache_creation_input_tokens: 10,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 4 },
        output_tokens: 1,
      },
    ],
    usage: { inputUncached: 1, cacheWrite5m: 6, cacheWrite1h: 4, outputTotal: 1, promptTotal: 11 },
    charge: '0.0000645', // 3 + 6 × 3.75 + 4 × 6 + 15 = 3 + 22.5 + 24 + 15
  },
  {
    name: 'the output includes thinking',
    reportedUsage: [{ input_tokens: 10, output_tokens: 300, output_tokens_details: { thinking_tokens: 256 } }],
    usage: { inputUncached: 10, outputTotal: 300, outputReasoning: 256, promptTotal: 10 },
    charge: '0.00453', // 30 + 44 × 15 + 256 × 15
  },
  {
    name: 'the end of a stream replaces its start, and is not added',
    reportedUsage: [{ input_tokens: 25, output_tokens: 1 }, { output_tokens: 15 }],
    usage: { inputUncached: 25, outputTotal: 15, promptTotal: 25 },
    charge: '0.0003', // 75 + 225
  },
  {
    name: 'null and absent at the end keep what the start reported',
    reportedUsage: [
      { input_tokens: 25, cache_read_input_tokens: 100, cache_creation_input_tokens: 0, output_tokens: 1 },
      { input_tokens: null, cache_creation_input_tokens: null, server_tool_use: null, output_tokens: 15 },
    ],
    usage: { inputUncached: 25, cacheRead: 100, outputTotal: 15, promptTotal: 125 },
    charge: '0.00033', // 75 + 30 + 225
  },
  {
    name: 'tools of the provider make the input grow, and a search is a call',
    reportedUsage: [
      { input_tokens: 2037, output_tokens: 4, server_tool_use: { web_search_requests: 0 } },
      {
        input_tokens: 15_665,
        output_tokens: 200,
        server_tool_use: { web_search_requests: 1, web_fetch_requests: 3 },
      },
    ],
    usage: { inputUncached: 15_665, outputTotal: 200, promptTotal: 15_665, toolCalls: { web_search: 1 } },
    charge: '0.059995', // 46,995 + 3,000 + 10,000; fetches are free
  },
  {
    name: 'a written cache may grow beyond the split of the start',
    reportedUsage: [
      {
        input_tokens: 5,
        cache_creation_input_tokens: 150,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 50 },
        output_tokens: 1,
      },
      { cache_creation_input_tokens: 300, output_tokens: 10 },
    ],
    usage: { inputUncached: 5, cacheWrite5m: 250, cacheWrite1h: 50, outputTotal: 10, promptTotal: 305 },
    charge: '0.0014025', // 15 + 937.5 + 300 + 150
  },
  {
    name: 'compaction stands in the iterations alone',
    reportedUsage: [
      {
        input_tokens: 23_000,
        output_tokens: 1000,
        iterations: [
          { type: 'compaction', input_tokens: 180_000, output_tokens: 3500 },
          { type: 'message', input_tokens: 23_000, output_tokens: 1000 },
        ],
      },
    ],
    usage: { inputUncached: 203_000, outputTotal: 4500, promptTotal: 203_000, promptLargest: 180_000 },
    prices: opusSheet,
    charge: '1.1275', // 203,000 × 5 + 4,500 × 25 = 1,015,000 + 112,500
  },
  {
    name: 'iterations of the answer are no more than its totals',
    reportedUsage: [
      {
        input_tokens: 30,
        cache_read_input_tokens: 10,
        output_tokens: 9,
        iterations: [
          { type: 'message', input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 4 },
          { type: 'message', input_tokens: 20, cache_read_input_tokens: 6, output_tokens: 5 },
        ],
      },
    ],
    usage: { inputUncached: 30, cacheRead: 10, outputTotal: 9, promptTotal: 40, promptLargest: 26 },
    charge: '0.000228', // 90 + 3 + 135
  },
  {
    name: 'compaction that only the start of a stream tells is kept, its stale answer is not',
    reportedUsage: [
      {
        input_tokens: 10,
        output_tokens: 1,
        iterations: [
          { type: 'compaction', input_tokens: 100, output_tokens: 20 },
          { type: 'message', input_tokens: 10, output_tokens: 1 },
        ],
      },
      { output_tokens: 30 },
    ],
    usage: { inputUncached: 110, outputTotal: 50, promptTotal: 110, promptLargest: 100 },
    charge: '0.00108', // 330 + 750
  },
  {
    name: 'the longest prompt of several decides the tier, not their sum',
    reportedUsage: [
      {
        input_tokens: 150_000,
        output_tokens: 10,
        iterations: [
          { type: 'compaction', input_tokens: 180_000, output_tokens: 10 },
          { type: 'message', input_tokens: 150_000, output_tokens: 10 },
        ],
      },
    ],
    usage: { inputUncached: 330_000, outputTotal: 20, promptTotal: 330_000, promptLargest: 180_000 },
    charge: '0.9903', // 330,000 × 3 + 20 × 15
  },
  {
    name: 'one long prompt of several takes all to the higher tier',
    reportedUsage: [
      {
        input_tokens: 10,
        output_tokens: 10,
        iterations: [
          { type: 'compaction', input_tokens: 1, cache_read_input_tokens: 200_000, output_tokens: 10 },
          { type: 'message', input_tokens: 10, output_tokens: 10 },
        ],
      },
    ],
    usage: { inputUncached: 11, cacheRead: 200_000, outputTotal: 20, promptTotal: 200_011, promptLargest: 200_001 },
    charge: '0.120516', // 66 + 120,000 + 450
  },
  {
    name: 'the cached prompt counts for the tier',
    reportedUsage: [{ input_tokens: 1, cache_read_input_tokens: 200_000, output_tokens: 1 }],
    usage: { inputUncached: 1, cacheRead: 200_000, outputTotal: 1, promptTotal: 200_001 },
    charge: '0.1200285', // 6 + 120,000 + 22.5
  },
]

for (const { name, reportedUsage, usage, charge, prices = sheet } of table)
  t.test(name, async (t) => {
    const read = readMessagesUsage(reportedUsage.reduce(mergeUsage, {}))
    t.strictSame(read, { ...noUsage, ...usage })
    t.equal(formatUsd(chargeFor(prices, read ?? noUsage).totalPicos), charge)
  })

t.test('what is no usage', async (t) => {
  const wrong: readonly unknown[] = [
    undefined,
    null,
    {},
    { input_tokens: 3 },
    { output_tokens: 3 },
    { input_tokens: 0, output_tokens: 3 },
    { input_tokens: '3', output_tokens: 4 },
    { input_tokens: 3.5, output_tokens: 4 },
    { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: '9' },
    { input_tokens: 3, output_tokens: 4, cache_creation_input_tokens: {} },
    { input_tokens: 3, output_tokens: 4, iterations: [{ type: 'compaction' }] },
  ]
  for (const raw of wrong) t.equal(readMessagesUsage(raw), null, JSON.stringify(raw))
})

t.test('a figure below zero counts as zero, and is reported as it is', async (t) => {
  t.match(readMessagesUsage({ input_tokens: -3, output_tokens: 4 }), {
    promptTotal: 0,
    outputTotal: 4,
    negative: { input_tokens: -3 },
  })
  t.match(readMessagesUsage({ input_tokens: 3, output_tokens: 4, server_tool_use: { web_search_requests: -1 } }), {
    toolCalls: {},
    negative: { 'server_tool_use.web_search_requests': -1 },
  })
})

t.test('thinking is never more than the output', async (t) => {
  const raw = { input_tokens: 3, output_tokens: 4, output_tokens_details: { thinking_tokens: 9 } }
  t.match(readMessagesUsage(raw), { outputTotal: 4, outputReasoning: 4 })
  t.match(readMessagesUsage({ ...raw, output_tokens_details: { thinking_tokens: '?' } }), {
    outputTotal: 4,
    outputReasoning: 0,
  })
})

t.test('what we write is read as it was', async (t) => {
  const usage: Usage = {
    ...noUsage,
    inputUncached: 5,
    cacheRead: 4,
    cacheWrite5m: 3,
    cacheWrite1h: 2,
    outputTotal: 9,
    outputReasoning: 6,
    promptTotal: 14,
    toolCalls: { web_search: 2 },
  }
  t.strictSame(readMessagesUsage(messagesUsageOnWire(usage)), usage)
  t.strictSame(
    readMessagesUsage(mergeUsage(messagesUsageOnWire({ ...usage, outputTotal: 1 }), finalUsageOnWire(usage))),
    usage,
  )
})

t.test('parts of another provider are input all the same', async (t) => {
  const usage = { ...noUsage, inputUncached: 5, inputImage: 85, cacheRead: 10, promptTotal: 100, outputTotal: 1 }
  const toolCalls = { web_search_medium: 1, x_search: 4 }
  t.match(messagesUsageOnWire({ ...usage, toolCalls }), {
    input_tokens: 90,
    cache_read_input_tokens: 10,
    server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 },
  })
  for (const searched of [{ grounded_prompt: 1 }, { grounding_query: 1 }])
    t.match(messagesUsageOnWire({ ...usage, toolCalls: searched }), { server_tool_use: { web_search_requests: 1 } })
  t.equal(messagesUsageOnWire(usage)['server_tool_use'], null)
})
