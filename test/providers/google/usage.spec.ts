import t from 'tap'
import { parseUsd } from '../../../src/domain/money.ts'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import { noUsage, type Usage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { readGenerateContentReply } from '../../../src/providers/google/dialect.ts'
import { GenerateContentReader } from '../../../src/providers/google/reader.ts'
import { readGenerateContentUsage } from '../../../src/providers/google/usage.ts'
import { answerOf, blocked, groundedText, groundingMetadata, usageOf } from './answers.ts'
import { type Model, sheets, targetOf } from './target.ts'

const ungrounded = { isGrounded: false, toolCalls: {} }
const text = (tokens: number) => ({ modality: 'TEXT', tokenCount: tokens })
const audio = (tokens: number) => ({ modality: 'AUDIO', tokenCount: tokens })
const image = (tokens: number) => ({ modality: 'IMAGE', tokenCount: tokens })

/** Each line: what Google says, the members of the usage that are not zero, and the charge in USD, worked out by hand. */
const table: readonly (readonly [string, Model, JsonObject, Partial<Usage>, string])[] = [
  [
    'plain',
    'gemini-3.7-flash',
    usageOf(100, 20),
    { inputUncached: 100, outputTotal: 20, promptTotal: 100 },
    '0.00015', // 100 × 0.75/M = 0.000075; 20 × 3.75/M = 0.000075
  ],
  [
    'the prompt includes what was cached, the candidates leave thoughts out',
    'gemini-2.5-flash',
    { ...usageOf(1000, 50, 200), cachedContentTokenCount: 400 },
    { inputUncached: 600, cacheRead: 400, outputTotal: 250, outputReasoning: 200, promptTotal: 1000 },
    '0.000817', // 600 × 0.3/M = 0.00018; 400 × 0.03/M = 0.000012; 250 × 2.5/M = 0.000625
  ],
  [
    'what a tool read is input',
    'gemini-3.7-flash',
    { ...usageOf(55, 51, 56), toolUsePromptTokenCount: 89, totalTokenCount: 251 },
    { inputUncached: 144, outputTotal: 107, outputReasoning: 56, promptTotal: 144 },
    '0.00050925', // 144 × 0.75/M = 0.000108; 107 × 3.75/M = 0.00040125
  ],
  [
    'cached audio is cached, the rest of it is audio',
    'gemini-2.5-flash',
    {
      ...usageOf(1000, 10),
      cachedContentTokenCount: 500,
      promptTokensDetails: [text(400), audio(600)],
      cacheTokensDetails: [text(200), audio(300)],
    },
    {
      inputUncached: 200,
      cacheRead: 500,
      cacheReadAudio: 300,
      inputAudio: 300,
      outputTotal: 10,
      promptTotal: 1000,
    },
    '0.0004', // 500 × 0.03/M = 0.000015; 300 × 1/M = 0.0003; 200 × 0.3/M = 0.00006; 10 × 2.5/M = 0.000025
  ],
  [
    'the service tier that is reported, by either member',
    'gemini-2.5-flash',
    { ...usageOf(1000, 10), serviceTier: 'flex' },
    { inputUncached: 1000, outputTotal: 10, promptTotal: 1000, serviceTier: 'flex' },
    '0.000325', // without a price of its own: 1000 × 0.3/M + 10 × 2.5/M
  ],
  [
    'the traffic type of Vertex AI',
    'gemini-2.5-flash',
    { ...usageOf(1000, 10), serviceTier: undefined, trafficType: 'ON_DEMAND_PRIORITY' },
    { inputUncached: 1000, outputTotal: 10, promptTotal: 1000, serviceTier: 'priority' },
    '0.000325',
  ],
  [
    'images cost what text does where they have no price of their own',
    'gemini-3.7-flash',
    { ...usageOf(1100, 0), totalTokenCount: 1100, promptTokensDetails: [text(10), image(1090)] },
    { inputUncached: 10, inputImage: 1090, promptTotal: 1100 },
    '0.000825', // 1,100 × 0.75/M
  ],
  [
    'spoken answers',
    'gemini-2.5-flash',
    { ...usageOf(10, 80), candidatesTokensDetails: [text(30), audio(50)] },
    { inputUncached: 10, outputTotal: 80, outputAudio: 50, promptTotal: 10 },
    '0.000203', // 10 × 0.3/M = 0.000003; 80 × 2.5/M = 0.0002
  ],
  [
    'a figure of zero is left out: nothing but thoughts before the limit',
    'gemini-2.5-flash',
    { promptTokenCount: 10, totalTokenCount: 110, thoughtsTokenCount: 100 },
    { inputUncached: 10, outputTotal: 100, outputReasoning: 100, promptTotal: 10 },
    '0.000253', // 10 × 0.3/M = 0.000003; 100 × 2.5/M = 0.00025
  ],
  [
    'candidates that are not told are what the total leaves',
    'gemini-3.7-flash',
    { promptTokenCount: 10, totalTokenCount: 60, thoughtsTokenCount: 20, toolUsePromptTokenCount: 5 },
    { inputUncached: 15, outputTotal: 45, outputReasoning: 20, promptTotal: 15 },
    '0.00018', // 15 × 0.75/M = 0.00001125; 45 × 3.75/M = 0.00016875
  ],
  [
    'a long prompt has the higher rates',
    'gemini-2.5-pro',
    { ...usageOf(200_001, 100), cachedContentTokenCount: 200_000 },
    { inputUncached: 1, cacheRead: 200_000, outputTotal: 100, promptTotal: 200_001 },
    '0.0515025', // 1 × 2.5/M = 0.0000025; 200,000 × 0.25/M = 0.05; 100 × 15/M = 0.0015
  ],
]

for (const [name, model, raw, expected, charge] of table)
  t.test(name, async (t) => {
    const usage = readGenerateContentUsage(raw, ungrounded)
    t.strictSame(usage, { ...noUsage, ...expected })
    t.equal(chargeFor(sheets[model], usage ?? noUsage).totalPicos, parseUsd(charge))
  })

t.test('a figure below zero counts as zero, and is reported as it is', async (t) => {
  const raw = {
    promptTokenCount: 9,
    candidatesTokenCount: -4,
    promptTokensDetails: [{ modality: 'AUDIO', tokenCount: -2 }],
  }
  t.match(readGenerateContentUsage(raw, ungrounded), {
    promptTotal: 9,
    outputTotal: 0,
    negative: { candidatesTokenCount: -4, 'promptTokensDetails.0.tokenCount': -2 },
  })
})

t.test('what is no usage', async (t) => {
  const none: readonly unknown[] = [
    undefined,
    null,
    [],
    {},
    { trafficType: 'PROVISIONED_THROUGHPUT' },
    { promptTokenCount: 5 },
    { promptTokenCount: '5', totalTokenCount: 5 },
    { promptTokenCount: 5, candidatesTokenCount: Number.NaN },
  ]
  for (const raw of none) t.equal(readGenerateContentUsage(raw, ungrounded), null)
})

const chargeOf = (
  model: Model,
  json: JsonObject,
): { lines: readonly (readonly [string, number, string])[] } & {
  total: bigint
} => {
  const reply = readGenerateContentReply(targetOf(model), json)
  if ('fault' in reply || reply.usage === null) throw new Error('no usage')
  const { lines, totalPicos } = chargeFor(sheets[model], reply.usage)
  return { lines: lines.map(({ item, quantity, amount }) => [item, quantity, amount] as const), total: totalPicos }
}

const searched = { ...usageOf(17, 37, 333), toolUsePromptTokenCount: 308, totalTokenCount: 695 }
const grounded = answerOf([{ text: groundedText }], 'STOP', searched, { groundingMetadata })

t.test('Gemini 2: one charge for the answer that searched; what the search found is no input', async (t) => {
  t.strictSame(chargeOf('gemini-2.5-flash', grounded), {
    lines: [
      ['input', 17, '0.0000051'],
      ['output', 37, '0.0000925'],
      ['reasoning', 333, '0.0008325'],
      ['grounded_prompt', 1, '0.035'],
    ],
    total: parseUsd('0.0359301'),
  })
})

t.test('Gemini 3: one charge for each query that says something and is not repeated', async (t) => {
  t.strictSame(chargeOf('gemini-3.7-flash', grounded), {
    lines: [
      ['input', 17, '0.00001275'],
      ['output', 37, '0.00013875'],
      ['reasoning', 333, '0.00124875'],
      ['grounding_query', 2, '0.028'],
    ],
    total: parseUsd('0.02940025'),
  })
})

t.test('no search, no charge for one', async (t) => {
  for (const model of ['gemini-2.5-flash', 'gemini-3.7-flash'] as const)
    for (const metadata of [{}, { webSearchQueries: [''] }, { groundingChunks: [] }, null]) {
      const json = answerOf([{ text: 'Hi' }], 'STOP', searched, { groundingMetadata: metadata })
      t.notOk(chargeOf(model, json).lines.some(([item]) => item.startsWith('ground')))
    }
})

t.test('addresses that were read are input, and no search, whichever event of a stream says so', async (t) => {
  const web = { uri: 'https://ai.pydantic.dev', title: 'Pydantic AI' }
  const chunks = { groundingMetadata: { groundingChunks: [{ web }] } }
  const fetched = { urlContextMetadata: { urlMetadata: [{ retrievedUrl: web.uri }] } }
  const read = { ...usageOf(32, 41, 47), toolUsePromptTokenCount: 2_395, totalTokenCount: 2_515 }
  const lines = [
    ['input', 2_427, '0.0007281'],
    ['output', 41, '0.0001025'],
    ['reasoning', 47, '0.0001175'],
  ] as const
  const whole = answerOf([{ text: 'Hi' }], 'STOP', read, { ...chunks, ...fetched })
  t.strictSame(chargeOf('gemini-2.5-flash', whole), { lines, total: parseUsd('0.0009481') })
  for (const [first, second] of [
    [fetched, chunks],
    [chunks, fetched],
  ] as const) {
    const reader = new GenerateContentReader(targetOf('gemini-2.5-flash'))
    reader.take(answerOf([{ text: 'H' }], null, read, first))
    reader.take(answerOf([{ text: 'i' }], 'STOP', read, second))
    t.strictSame([reader.usage?.promptTotal, reader.usage?.toolCalls], [2_427, {}])
  }
})

t.test('a blocked prompt costs what it was told to have', async (t) => {
  t.strictSame(chargeOf('gemini-3.7-flash', blocked), {
    lines: [['input', 9, '0.00000675']],
    total: parseUsd('0.00000675'),
  })
})
