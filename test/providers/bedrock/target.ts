import type { JsonObject } from '../../../src/encoding/json.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import type { Target, UpstreamCallRequest } from '../../../src/providers/dialect/dialect.ts'

const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '1', cached_input: '0.1', cache_write_5m: '1.25', output: '4' },
  max_output_tokens: 5_000,
}

export const nova = 'amazon.nova-lite-v1:0'
export const claude = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'

export const targetOf = (upstreamModel: string = nova, model = 'bedrock/model', apiKey = ''): Target => ({
  provider: {
    name: 'bedrock',
    dialect: 'bedrock',
    profile: 'openai',
    baseUrl: 'https://bedrock-runtime.eu-west-1.amazonaws.com',
    apiKey,
  },
  model,
  upstreamModel,
  sheet,
  calledAtSeconds: 1_760_000_000,
})

export const askedOf = (body: JsonObject = {}, stream = false): UpstreamCallRequest => ({
  requestId: '0199d0a0-0000-7000-8000-000000000001',
  body: { model: 'bedrock/model', max_tokens: 1_000, messages: [{ role: 'user', content: 'Say hi' }], ...body },
  stream,
  outputCap: null,
})
