import t from 'tap'
import { parseUsd } from '../../../src/domain/money.ts'
import type { UsageBounds } from '../../../src/domain/pricing/worst-case.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import { billedTool, toolCallsMaxOf } from '../../../src/providers/openai-responses/tools.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { worstCasePicos } from '../../support/worst-case.ts'
import { sheetOf } from './fixtures.ts'

const sheet = sheetOf('openai/gpt-4.1')
const priceOf = (item: string): bigint => parseUsd(sheet.per_call?.[item] ?? 'none')

t.test('of all that an image can turn out to be, the last is the dearest', async (t) => {
  for (const model of [undefined, 'gpt-image-1', 'gpt-image-1.5', 'gpt-image-1-mini'])
    for (const quality of ['auto', 'low', 'medium', 'high', undefined])
      for (const size of ['auto', '1024x1024', '1536x1024', '1024x1536', undefined]) {
        const items = billedTool({ type: 'image_generation', model, quality, size })?.items ?? []
        const prices = items.map(priceOf)
        t.ok(prices.length > 0 && prices.every((price) => price <= prices.at(-1)!), `${items.at(-1)}`)
      }
})

const reserved = (body: JsonObject): bigint => {
  const demand: UsageBounds = {
    inputTokensMax: 0,
    unmeasured: false,
    outputTokensMax: 0,
    choices: 1,
    audio: false,
    image: false,
    toolCallsMax: toolCallsMaxOf(body, true),
  }
  return worstCasePicos(sheet, demand)
}

t.test('what a request can cost in tools is reserved', async (t) => {
  const tools = [{ type: 'web_search_preview' }, { type: 'code_interpreter' }, { type: 'image_generation' }]
  // gpt-4.1: 0.025 a search, 0.03 a container, 0.2 the dearest image of gpt-image-1.5, and its prompt at 5 a million; the second may be
  // made from the first, at 8 a million. Two searches add 28,000 tokens, at 2 a million.
  const prompt = (images: bigint): bigint => images * BigInt(providerLimits.imageToolPromptTokensMax) * 5_000_000n
  const earlier = (images: bigint): bigint => images * BigInt(providerLimits.imageToolImageTokensMax) * 8_000_000n
  t.equal(reserved({ tools, max_tool_calls: 2 }), 510_000_000_000n + 56_000_000_000n + prompt(2n) + earlier(1n))
  const own =
    BigInt(sharedLimits.webSearchesMax) * 25n +
    BigInt(providerLimits.codeRunsMax) * 30n +
    BigInt(providerLimits.generatedImagesMax) * 200n
  // 0 + 1 + 2 + 3 earlier images, and 64,000 tokens of searches.
  t.equal(reserved({ tools }), (own + 128n) * 1_000_000_000n + prompt(4n) + earlier(6n))
  t.equal(reserved({ tools: [{ type: 'function' }] }), 0n)
})
