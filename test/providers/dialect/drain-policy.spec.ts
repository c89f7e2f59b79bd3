import t from 'tap'
import { type Provider, readDrainPolicy } from '../../../src/providers/dialect/provider.ts'

const provider = (name: string, baseUrl: string, members: Partial<Provider> = {}): Provider => ({
  name,
  dialect: 'openai',
  profile: 'openai',
  baseUrl,
  apiKey: 'k',
  ...members,
})

t.test(
  'a cancel stops the billing of four providers, by their name or host, unless the configuration differs',
  async (t) => {
    const stops = { cancelStopsBilling: true, drainMs: 15_000 }
    const billsOn = { cancelStopsBilling: false, drainMs: 60_000 }
    const relay = 'https://relay.example/v1'
    for (const name of ['openai', 'azure', 'anthropic', 'grok', 'xai'])
      t.same(readDrainPolicy(provider(name, relay)), stops)
    for (const host of ['api.openai.com', 'mine.openai.azure.com', 'api.anthropic.com', 'api.x.ai'])
      t.same(readDrainPolicy(provider('mine', `https://${host}/v1`)), stops)
    for (const name of ['google', 'groq', 'mistral', 'bedrock', 'mine'])
      t.same(readDrainPolicy(provider(name, relay)), billsOn)
    t.same(readDrainPolicy(provider('mine', 'https://api.notopenai.com/v1')), billsOn)
    t.same(readDrainPolicy(provider('mine', relay, { cancelStopsBilling: true })), stops)
    t.same(readDrainPolicy(provider('openai', relay, { cancelStopsBilling: false, drainMs: 5 })), {
      ...billsOn,
      drainMs: 5,
    })
  },
)
