import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, isStepCount, type LanguageModel, streamText, tool } from 'ai'
import t from 'tap'
import { z } from 'zod'
import { checkReservations, startBilling } from '../../support/bills.ts'
import { sheetOf, startTestGateway } from '../../support/gateway.ts'
import { inLongForm } from '../../support/long-form.ts'

const providers = ['openai', 'grok', 'gemini', 'anthropic']
const sheets = Object.fromEntries(
  providers.map((provider) => [`${provider}/plain`, sheetOf({ max_output_tokens: 64_000, context_tokens: 200_000 })]),
)
const models = {
  limited:
    'limited;stream_error=9;failed;error_code=rate_limit_exceeded;error_message=Rate limit reached. Please try again in 11.054s.',
}
const prompt = 'Which way is north?'
const answer = 'You said: Which way is north?'
const place = z.object({ place: z.string() })
/** Each surface once, and each provider. */
const vercelInShort: readonly string[] = [
  'chat, openai',
  'compatible, gemini',
  'responses, grok',
  'messages, anthropic',
]

t.test('agents, over HTTP, on real servers', async (t) => {
  const running = await startTestGateway(t, { sheets, models })
  const { gateway, account } = running
  const baseURL = `${gateway.url}/v1`
  const apiKey = account.secret

  const openai = createOpenAI({ baseURL, apiKey })
  const anthropic = createAnthropic({ baseURL, apiKey })
  const compatible = createOpenAICompatible({ name: 'gateway', baseURL, apiKey, includeUsage: true })
  const vercelModels: readonly (readonly [string, LanguageModel])[] = [
    ['chat, openai', openai.chat('openai/plain')],
    ['chat, anthropic', openai.chat('anthropic/plain')],
    ['compatible, gemini', compatible('gemini/plain')],
    ['compatible, grok', compatible('grok/plain')],
    ['responses, openai', openai.responses('openai/plain')],
    ['responses, grok', openai.responses('grok/plain')],
    ['messages, anthropic', anthropic('anthropic/plain')],
    ['messages, openai', anthropic('openai/plain')],
    ['messages, gemini', anthropic('gemini/plain')],
  ]

  for (const [name, model] of inLongForm(vercelModels, ([name]) => vercelInShort.includes(name)))
    t.test(`the Vercel AI SDK: ${name}`, async (t) => {
      const bills = await startBilling(running)
      const whole = await generateText({ model, prompt, maxRetries: 0 })
      t.equal(whole.text, answer)
      t.match(whole.usage, { inputTokens: 4, outputTokens: 6 })
      const stream = streamText({ model, prompt, maxRetries: 0 })
      let text = ''
      for await (const piece of stream.textStream) text += piece
      t.equal(text, answer)
      t.match(await stream.usage, { inputTokens: 4, outputTokens: 6 })

      const asked: string[] = []
      const weather = tool({
        description: 'Tells the weather.',
        inputSchema: place,
        execute: async ({ place }) => {
          asked.push(place)
          return 'sunny'
        },
      })
      const loop = { model, prompt, tools: { weather }, stopWhen: isStepCount(3), maxRetries: 0 }
      const looped = await generateText(loop)
      t.equal(looped.steps.length, 2)
      t.equal(looped.text, answer)
      const streamedLoop = streamText(loop)
      await streamedLoop.consumeStream()
      t.equal((await streamedLoop.steps).length, 2)
      t.equal(await streamedLoop.text, answer)
      t.same(asked, ['sandbox', 'sandbox'])
      t.equal((await bills(t)).length, 6)
    })

  t.test('the Vercel AI SDK: a response that fails within its stream', async (t) => {
    const model = openai.responses('openai/limited')
    const { fullStream } = streamText({ model, prompt, maxRetries: 0, onError() {} })
    const errors: unknown[] = []
    const types: string[] = []
    for await (const part of fullStream) {
      types.push(part.type)
      if (part.type === 'error') errors.push(part.error)
      if (part.type === 'finish') t.equal(part.finishReason, 'error')
    }
    t.match(errors, [{ message: /broke off/ }], 'it reads both events, and reports one error')
    t.ok(types.includes('text-delta') && types.includes('finish'))
  })

  const configuration = { baseURL }
  const langchain: readonly (readonly [string, Required<Pick<BaseChatModel, 'bindTools'>> & BaseChatModel])[] = [
    ['ChatOpenAI, openai', new ChatOpenAI({ model: 'openai/plain', apiKey, configuration, maxRetries: 0 })],
    ['ChatOpenAI, anthropic', new ChatOpenAI({ model: 'anthropic/plain', apiKey, configuration, maxRetries: 0 })],
    ['ChatOpenAI, gemini', new ChatOpenAI({ model: 'gemini/plain', apiKey, configuration, maxRetries: 0 })],
    [
      'ChatOpenAI, responses',
      new ChatOpenAI({ model: 'openai/plain', apiKey, configuration, maxRetries: 0, useResponsesApi: true }),
    ],
    ...['anthropic', 'openai', 'gemini'].map(
      (provider) =>
        [
          `ChatAnthropic, ${provider}`,
          new ChatAnthropic({
            model: `${provider}/plain`,
            apiKey,
            anthropicApiUrl: gateway.url,
            maxTokens: 500,
            maxRetries: 0,
          }),
        ] as const,
    ),
  ]

  for (const [name, model] of langchain)
    t.test(`LangChain: ${name}`, async (t) => {
      const bills = await startBilling(running)
      const whole = await model.invoke(prompt)
      t.equal(whole.text, answer)
      t.match(whole.usage_metadata, { input_tokens: 4, output_tokens: 6 })
      let text = ''
      for await (const chunk of await model.stream(prompt)) text += chunk.text
      t.equal(text, answer)

      const weather = langchainTool(async ({ place }) => `sunny in ${place}`, {
        name: 'weather',
        description: 'Tells the weather.',
        schema: place,
      })
      const calling = model.bindTools([weather])
      const messages: BaseMessage[] = [new HumanMessage(prompt)]
      const first = await calling.invoke(messages)
      t.ok(AIMessage.isInstance(first))
      messages.push(first)
      for (const call of AIMessage.isInstance(first) ? (first.tool_calls ?? []) : []) {
        t.match(call, { name: 'weather', args: { place: 'sandbox' } })
        messages.push(await weather.invoke({ ...call, type: 'tool_call' }))
      }
      t.equal(messages.length, 3)
      t.equal((await calling.invoke(messages)).text, answer)
      t.equal((await bills(t)).length, 4)
    })

  t.test('what was set aside covers all of it', (t) => checkReservations(t, running))
})
