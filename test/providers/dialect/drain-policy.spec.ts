import t from 'tap'
import {
  type Provider,
  providerCapabilities,
  readDrainPolicy,
  resolveProfile,
} from '../../../src/providers/dialect/provider.ts'

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
    t.same(
      readDrainPolicy(provider('openai', 'https://openai.relay.example/v1')),
      stops,
      'a relay whose host has its name',
    )
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

t.test('how a provider counts follows from its host, and from its name where that is a relay', async (t) => {
  const profileOf = (name: string, baseUrl: string) => resolveProfile({ name, baseUrl })
  t.equal(profileOf('mine', 'https://api.x.ai/v1'), 'xai')
  t.equal(profileOf('mine', 'https://eu-west-1.api.x.ai/v1'), 'xai')
  t.equal(profileOf('mine', 'https://generativelanguage.googleapis.com/v1beta/openai'), 'gemini')
  t.equal(profileOf('openai', 'https://api.x.ai/v1'), 'xai')
  t.equal(profileOf('grok', 'http://127.0.0.1:1234'), 'xai')
  t.equal(profileOf('gemini', ''), 'gemini')
  t.equal(profileOf('mine', 'https://api.notx.ai/v1'), 'openai')
  t.same(providerCapabilities(provider('xai', 'https://relay.example/v1')).service_tiers, ['default', 'priority'])
})
