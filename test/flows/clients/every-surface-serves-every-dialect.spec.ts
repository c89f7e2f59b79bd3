import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { startBilling } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import { AwsAccount, bedrockGate, bedrockRegion, staticKeys } from '../../support/clouds/bedrock.ts'
import { startCloud } from '../../support/clouds/cloud.ts'
import { sheetOf, startTestGateway } from '../../support/gateway.ts'
import { chatSurface, geminiSurface, messagesSurface, responsesSurface, type SurfaceClient } from './matrix/surfaces.ts'

const models = {
  weather: 'weather;tool_calls=2',
  thinker: 'thinker',
  slow: 'slow;output_tokens=40;chunk_delay_ms=20',
  refused: 'refused;status=400;error_message=the prompt is odd',
}
/** By the name of the provider in the sandbox: its dialect, or the variant of one. */
const dialects = {
  openai: 'openai',
  grok: 'openai-compatible (xAI)',
  google: 'openai-compatible (Gemini)',
  anthropic: 'anthropic',
  gemini: 'google',
  bedrock: 'bedrock (Converse)',
  'bedrock-claude': 'bedrock (InvokeModel)',
}

const awsModels = (id: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries({ plain: 'plain', ...models }).map(([name, directed]) => {
      const [, ...directives] = directed.split(';')
      return [name, [`${id}-${name}`, ...directives].join(';')]
    }),
  )
const providers = Object.keys(dialects)
/** Converse counts reasoning as output, and does not say how much of it that is. */
const withoutReasoningCount: readonly string[] = ['bedrock']
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

/** `make matrix` has every pair. */
const isWhole = process.env['MATRIX_WHOLE'] !== undefined

/** The short form has one of them for a provider, and each of them for one provider. */
const othersOf = (provider: string, others: readonly string[]): readonly string[] => {
  const place = providers.indexOf(provider)
  const inTurn = [...providers.slice(place + 1), ...providers.slice(0, place)].filter((each) => others.includes(each))
  return isWhole ? inTurn : inTurn.slice(0, 1)
}

/** A conversation that others began, with their reasoning and calls. */
const continueFrom =
  (others: readonly string[]): Cell =>
  async (client, provider) => {
    for (const other of othersOf(provider, others)) {
      const first = await client.whole({ model: `${other}/thinker`, text: 'Hi', effort: true })
      const asked = { text: 'Where?', tools: true, effort: true, history: first.history }
      const called = await client.whole({ model: `${other}/weather`, ...asked })
      await client.whole({ model: `${provider}/weather`, tools: true, effort: true, history: called.history })
    }
  }

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
    if (provider.startsWith('bedrock'))
      assertThat(/thinking|reasoning|thought/.test(JSON.stringify(history)), 'no reasoning in the answer')
    await client.whole({ model: `${provider}/thinker`, text: 'And south?', effort: true, history })
  },
  'other provider': continueFrom(providers.filter((each) => !withoutReasoningCount.includes(each))),
}

const unbilled: { readonly [feature: string]: Cell } = {
  errors: async (client, provider) => {
    const fault = await client.whole({ model: `${provider}/refused`, text: 'Hi' }).catch((caught: unknown) => caught)
    assertThat(fault instanceof Error && /the prompt is odd/.test(fault.message), String(fault))
  },
  'after Converse': continueFrom(withoutReasoningCount),
  abort: (client, provider) => client.abort({ model: `${provider}/slow`, text: 'Hi' }),
}

t.test('every surface serves every dialect, by the official SDKs, on real servers', async (t) => {
  const aws = new AwsAccount()
  let sandboxUrl = ''
  const origin = await startCloud(t, (call) => bedrockGate(sandboxUrl, aws)(call))
  const authentication = { type: 'aws_keys', region: bedrockRegion, ...staticKeys } as const
  const bedrock = { dialect: 'bedrock', profile: 'openai', baseUrl: origin, apiKey: '', authentication } as const
  const running = await startTestGateway(t, {
    models,
    sheets,
    providers: [
      { ...bedrock, name: 'bedrock', models: awsModels('eu.amazon.nova-2') },
      { ...bedrock, name: 'bedrock-claude', models: awsModels('eu.anthropic.claude-sonnet-4-5') },
    ],
  })
  sandboxUrl = running.sandbox.url
  const { gateway, account, operator } = running
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.secret, maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: account.secret, maxRetries: 0 })
  const surfaces = {
    chat: chatSurface(openai),
    messages: messagesSurface(anthropic),
    responses: responsesSurface(openai),
    gemini: geminiSurface(new GoogleGenAI({ apiKey: account.secret, httpOptions: { baseUrl: gateway.url } })),
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
        const bills = await startBilling(running, { reportsReasoning: !withoutReasoningCount.includes(provider) })
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
