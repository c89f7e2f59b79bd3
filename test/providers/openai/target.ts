import type { JsonObject } from '../../../src/encoding/json.ts'
import type { PriceSheet } from '../../../src/events/types.ts'
import type { Target, UpstreamCallRequest } from '../../../src/providers/dialect/dialect.ts'
import type { Profile } from '../../../src/providers/dialect/provider.ts'

export const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '2', cached_input: '0.5', output: '8' },
  max_output_tokens: 4096,
}

export const targetOf = (profile: Profile = 'openai', upstreamModel = 'gpt-4o-mini', prices = sheet): Target => ({
  provider: {
    name: 'alpha',
    dialect: 'openai',
    profile,
    baseUrl: 'https://api.alpha.example/v1',
    apiKey: 'sk-provider-key-123456',
  },
  model: `alpha/${upstreamModel}`,
  upstreamModel,
  sheet: prices,
  calledAtSeconds: 1_760_000_000,
})

export const askedOf = (
  body: JsonObject = {},
  stream = false,
  outputCap: number | null = null,
): UpstreamCallRequest => ({
  requestId: '0199d0a0-0000-7000-8000-000000000001',
  body: { model: 'alpha/gpt-4o-mini', messages: [{ role: 'user', content: 'Say hi' }], ...body },
  stream,
  outputCap,
})
