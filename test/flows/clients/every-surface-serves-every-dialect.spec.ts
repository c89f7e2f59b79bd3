import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { startBilling } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { sheetOf, startTestGateway } from '../../support/gateway.ts'
import { chatSurface, messagesSurface, responsesSurface, type SurfaceClient } from './matrix/surfaces.ts'

const models = {
  weather: 'weather;tool_calls=2',
  thinker: 'thinker',
  slow: 'slow;output_tokens=200;chunk_delay_ms=20',
  refused: 'refused;status=400;error_message=the prompt is odd',
}
/** By the name of the provider in the sandbox: its dialect, or the variant of one. */
const dialects = {
  openai: 'openai',
  grok: 'openai-compatible (xAI)',
  google: 'openai-compatible (Gemini)',
  anthropic: 'anthropic',
  gemini: 'google',
}
const providers = Object.keys(dialects)
const sheets = Object.fromEntries(
  providers.flatMap((provider) =>
    ['plain', ...Object.keys(models)].map((model) => [`${provider}/${model}`, sheetOf({ max_output_tokens: 8_000 })]),
  ),
)

const answerOf = (text: string): string => `You said: ${text}`

const assertThat = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what)
}

type Cell = (client: SurfaceClient, provider: string) => Promise<unknown>

/** Those that a provider answers whole: their bills equal its own count. */
const billed: { readonly [feature: string]: Cell } = {
  whole: async (client, provider) => {
    const { text } = await client.whole({ model: `${provider}/plain`, text: 'North?' })
    assertThat(text === answerOf('North?'), text)
  },
  stream: async (client, provider) => {
    const text = await client.stream({ model: `${provider}/plain`, text: 'North?' })
    assertThat(text === answerOf('North?'), text)
  },
  tools: async (client, provider) => {
    const called = await client.whole({ model: `${provider}/weather`, text: 'Hi', tools: true })
    assertThat(called.calls > 0, 'no tool was called')
    const { text } = await client.whole({ model: `${provider}/weather`, tools: true, history: called.history })
    assertThat(text !== '', 'no answer after the results')
  },
  images: (client, provider) => client.whole({ model: `${provider}/plain`, text: 'Hi', image: true }),
  schema: async (client, provider) => {
    const { text } = await client.whole({ model: `${provider}/plain`, text: 'Hi', schema: true })
    assertThat(typeof JSON.parse(text).place === 'string', text)
  },
  reasoning: async (client, provider) => {
    const { history } = await client.whole({ model: `${provider}/thinker`, text: 'Hi', effort: true })
    await client.whole({ model: `${provider}/thinker`, text: 'And south?', effort: true, history })
  },
  'other provider': async (client, provider) => {
    for (const other of providers.filter((each) => each !== provider)) {
      const first = await client.whole({ model: `${other}/thinker`, text: 'Hi', effort: true })
      const called = await client.whole({
        model: `${other}/weather`,
        text: 'Where?',
        tools: true,
        effort: true,
        history: first.history,
      })
      await client.whole({ model: `${provider}/weather`, tools: true, effort: true, history: called.history })
    }
  },
}

const unbilled: { readonly [feature: string]: Cell } = {
  errors: async (client, provider) => {
    const fault = await client.whole({ model: `${provider}/refused`, text: 'Hi' }).catch((caught: unknown) => caught)
    assertThat(fault instanceof Error && /the prompt is odd/.test(fault.message), String(fault))
  },
  abort: (client, provider) => client.abort({ model: `${provider}/slow`, text: 'Hi' }),
}

t.test('every surface serves every dialect, by the official SDKs, on real servers', async (t) => {
  const running = await startTestGateway(t, { models, sheets })
  const { gateway, account, operator } = running
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.secret, maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: account.secret, maxRetries: 0 })
  const surfaces = {
    chat: chatSurface(openai),
    messages: messagesSurface(anthropic),
    responses: responsesSurface(openai),
  }
  /** What was left is billed too, in its own time. */
  const allAreClosed = async (): Promise<boolean> => {
    const types = (await operator.events()).map(({ type }) => type)
    const count = (...wanted: readonly string[]): number => types.filter((type) => wanted.includes(type)).length
    return count('RequestRouted') === count('UsageRecorded', 'RequestFailed')
  }
  const features = [...Object.keys(billed), ...Object.keys(unbilled), 'bills']
  const lines = [`| surface | dialect | ${features.join(' | ')} |`]

  for (const [surface, client] of Object.entries(surfaces))
    for (const provider of providers)
      await t.test(`${surface} with ${provider}`, async (t) => {
        const run = async (feature: string, cell: Cell): Promise<string> => {
          const fault = await cell(client, provider).then(
            () => null,
            (caught: unknown) => String(caught),
          )
          t.equal(fault, null, feature)
          return fault === null ? 'ok' : 'fails'
        }
        const results: string[] = []
        const bills = await startBilling(running)
        for (const [feature, cell] of Object.entries(billed)) results.push(await run(feature, cell))
        const charged = await bills(t)
        t.ok(charged.length > 0)
        const isBilled = t.passing()
        for (const [feature, cell] of Object.entries(unbilled)) results.push(await run(feature, cell))
        await until(allAreClosed)
        lines.push(
          `| ${surface} | ${dialects[provider as keyof typeof dialects]} | ${[...results, isBilled ? 'ok' : 'fails'].join(' | ')} |`,
        )
      })

  for (const line of lines) t.comment(line)
})
