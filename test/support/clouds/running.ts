import Anthropic from '@anthropic-ai/sdk'
import { type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import type { Test } from 'tap'
import { answeringSurfaces, type ProviderConfig } from '../../../src/config/providers.ts'
import { startBilling } from '../bills.ts'
import { configOf, sheetOf, startTestGateway, type TestGateway } from '../gateway.ts'

const embeddingSheet = sheetOf({ per_million_tokens: { input: '1', output: '0' }, max_output_tokens: 0 })
export const question = [{ role: 'user' as const, content: 'Which way is north?' }]
const answer = 'You said: Which way is north?'

interface CloudProvider extends Omit<ProviderConfig, 'models' | 'profile'> {
  readonly model: string
}

/** Of a stand-in that has models by the word in their names. */
const variantsOf = (model: string): readonly string[] =>
  ['counted', 'slow', 'broken', 'throttled'].map((variant) => model.replace('plain', variant))

export const startClouds = async (t: Test, providers: readonly CloudProvider[]): Promise<TestGateway> => {
  const { catalog } = configOf('/nowhere', 'http://nowhere', {})
  const surfaces = answeringSurfaces
  return startTestGateway(t, {
    sheets: Object.fromEntries(
      providers.flatMap(({ name, model }) => [
        ...[model, ...variantsOf(model), 'absent'].map((each) => [`${name}/${each}`, sheetOf()] as const),
        [`${name}/embedding`, embeddingSheet] as const,
      ]),
    ),
    config: {
      providers: providers.map(({ model: _model, ...each }) => ({ ...each, models: {}, profile: 'openai' })),
      catalog: {
        ...catalog,
        providers: new Map(providers.map(({ name }) => [name, { models: {}, surfaces, profile: 'openai' }])),
        routers: { auto: { candidates: [`${providers[0]?.name}/absent`, `${providers.at(-1)?.name}/plain`] } },
      },
    },
  })
}

export const openaiOf = ({ gateway, account }: TestGateway): OpenAI =>
  new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.secret, maxRetries: 0 })
export const anthropicOf = ({ gateway, account }: TestGateway): Anthropic =>
  new Anthropic({ baseURL: gateway.url, apiKey: account.secret, maxRetries: 0 })

const googleOf = ({ gateway, account }: TestGateway): GoogleGenAI =>
  new GoogleGenAI({ apiKey: account.secret, httpOptions: { baseUrl: gateway.url } })

const geminiText = async (answers: AsyncIterable<GenerateContentResponse> | readonly GenerateContentResponse[]) => {
  let text = ''
  for await (const { candidates } of answers)
    for (const part of candidates?.[0]?.content?.parts ?? []) text += part.text ?? ''
  return text
}

/** The same question by every surface, whole and streamed: the text of each answer. */
const askEverySurface = async (running: TestGateway, model: string): Promise<readonly string[]> => {
  const openai = openaiOf(running)
  const anthropic = anthropicOf(running)
  const chat = { model, messages: question }
  const responses = { model, input: 'Which way is north?' }
  const messages = { model, messages: question, max_tokens: 100 }
  const { models } = googleOf(running)
  const contents = { model, contents: 'Which way is north?' }
  const blocks = ({ content }: Anthropic.Message): string =>
    content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  const streamed = openai.chat.completions.stream({ ...chat, stream: true })
  return [
    (await openai.chat.completions.create(chat)).choices[0]?.message.content ?? '',
    (await streamed.finalChatCompletion()).choices[0]?.message.content ?? '',
    (await openai.responses.create(responses)).output_text,
    (await openai.responses.stream(responses).finalResponse()).output_text,
    blocks(await anthropic.messages.create(messages)),
    blocks(await anthropic.messages.stream(messages).finalMessage()),
    await geminiText([await models.generateContent(contents)]),
    await geminiText(await models.generateContentStream(contents)),
  ]
}

const surfacesOf = ['chat', 'chat', 'responses', 'responses', 'messages', 'messages', 'gemini', 'gemini']

/** Of one provider: two answers by each surface, and a bill for each of what the cloud reported, at the published price. */
export const checkSurfaces = async (t: Test, running: TestGateway, model: string): Promise<void> => {
  const bills = await startBilling(running)
  t.same(
    await askEverySurface(running, model),
    surfacesOf.map(() => answer),
  )
  const made = await bills(t)
  t.same(
    made.map(({ surface }) => surface),
    surfacesOf,
  )
  for (const { model: billed, usage, total } of made) {
    t.equal(billed, model)
    t.equal(Number(total).toFixed(6), ((usage.promptTotal + usage.outputTotal * 2) / 1_000_000).toFixed(6))
  }
}

export const faultOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => undefined,
    (fault: unknown) => fault,
  )
