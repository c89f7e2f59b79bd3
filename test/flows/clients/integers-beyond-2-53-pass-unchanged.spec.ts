import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { startExternalServers } from '../../support/external-servers.ts'
import { sheetOf } from '../../support/gateway.ts'
import { askKeyed } from '../../support/keyed.ts'
import { startRolesTogether } from '../../support/roles-together.ts'
import { openKnownAccount } from '../../support/video.ts'

/** 2^53 + 1: a JavaScript number rounds it to the one before. */
const wide = '9007199254740993'
const rounded = '9007199254740992'

const usage = '"usage":{"prompt_tokens":5,"completion_tokens":5,"input_tokens":5,"output_tokens":5}'
const answers: readonly (readonly [path: RegExp, answer: string])[] = [
  [
    /chat\/completions$/,
    `{"id":"c","object":"chat.completion","created":1,"model":"m","vendor_id":${wide},"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\\"n\\":${wide}}"}}]}}],${usage}}`,
  ],
  [
    /\/messages$/,
    `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"n":${wide}}}],"stop_reason":"tool_use","stop_sequence":null,${usage}}`,
  ],
  [
    /\/responses$/,
    `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\\"n\\":${wide}}","status":"completed"}],${usage}}`,
  ],
  [
    /generateContent$/,
    `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":${wide}}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":5,"totalTokenCount":10},"modelVersion":"m","responseId":"r"}`,
  ],
]

const asked: string[] = []
const upstream = createServer(async (request, response) => {
  asked.push(await text(request))
  const [, answer = '{}'] = answers.find(([path]) => path.test(request.url ?? '')) ?? []
  response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
}).listen(0, '127.0.0.1')
await once(upstream, 'listening')
t.teardown(() => {
  upstream.closeAllConnections()
  upstream.close()
})
const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`
const providerOf = (name: string, dialect: 'openai' | 'anthropic' | 'google', profile: 'openai' | 'gemini') =>
  ({ name, dialect, profile, baseUrl, apiKey: 'x', models: {} }) as const

const { direct } = await startExternalServers(t)
const { operator, urls } = await startRolesTogether(t, {
  external: direct,
  sheets: Object.fromEntries(['openai', 'anthropic', 'gemini'].map((name) => [`${name}/plain`, sheetOf()])),
  config: {
    providers: [
      providerOf('openai', 'openai', 'openai'),
      providerOf('anthropic', 'anthropic', 'openai'),
      providerOf('gemini', 'google', 'gemini'),
    ],
  },
})
const [url = ''] = urls
const secret = await openKnownAccount(operator, urls, 'wide', '10')

const schema = `{"type":"object","properties":{"n":{"type":"integer","maximum":${wide}}}}`
const givenArguments = `{\\"n\\":${wide}}`
const bodies = {
  chat: (model: string) =>
    `{"model":"${model}","max_tokens":20,"seed":${wide},"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"f","arguments":"${givenArguments}"}}]},{"role":"tool","tool_call_id":"call_0","content":"1"}],"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`,
  messages: (model: string) =>
    `{"model":"${model}","max_tokens":20,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_0","name":"f","input":{"n":${wide}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_0","content":"1"}]}],"tools":[{"name":"f","input_schema":${schema}}]}`,
  responses: (model: string) =>
    `{"model":"${model}","max_output_tokens":20,"store":false,"input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"call_0","name":"f","arguments":"${givenArguments}"},{"type":"function_call_output","call_id":"call_0","output":"1"}],"tools":[{"type":"function","name":"f","parameters":${schema}}]}`,
} as const
const paths = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' } as const
const routes = [
  ...['openai', 'anthropic', 'gemini'].flatMap((provider) => [
    { surface: 'chat', provider } as const,
    { surface: 'messages', provider } as const,
  ]),
  { surface: 'responses', provider: 'openai' },
] as const

const countOf = (haystack: string, needle: string): number => haystack.split(needle).length - 1

for (const { surface, provider } of routes)
  t.test(`${surface} to ${provider}`, async (t) => {
    const ask = { url, secret, path: paths[surface] }
    const body = bodies[surface](`${provider}/plain`)
    const answer = await askKeyed({ ...ask, key: `${surface} ${provider}`, body })
    t.match(answer, { status: 200 })
    const sent = asked.at(-1) ?? ''
    t.ok(countOf(sent, wide) >= 2, 'in a schema and in the arguments of a call', { sent })
    t.equal(countOf(sent, rounded), 0, 'nothing is rounded on its way there')
    t.equal(countOf(sent, 'rawJSON'), 0)
    t.ok(countOf(answer?.text ?? '', wide) >= 1, 'in the arguments of the answer', { text: answer?.text })
    t.equal(countOf(answer?.text ?? '', rounded), 0, 'nor on its way back')

    const other = await askKeyed({ ...ask, key: `${surface} ${provider}`, body: body.replaceAll(wide, rounded) })
    t.match(other, { status: 422, code: 'idempotency_key_reused' }, 'another integer is another body')
    const again = await askKeyed({ ...ask, key: `${surface} ${provider}`, body })
    t.match(again, { status: 200, isReplayed: true, text: answer?.text })
  })

t.test('a seed reaches OpenAI as it is written; figures that the gateway reads are numbers', async (t) => {
  const body = `{"model":"openai/plain","seed":${wide},"max_tokens":${wide},"messages":[{"role":"user","content":"Hi"}],"vendor":${wide}}`
  t.match(await askKeyed({ url, secret, path: paths.chat, key: 'seed', body }), { status: 200 })
  t.match(asked.at(-1), `"seed":${wide}`)
  t.match(asked.at(-1), `"vendor":${wide}`)
  const wrong = body.replace(`"seed":${wide}`, '"seed":"x"')
  t.match(await askKeyed({ url, secret, path: paths.chat, key: 'wrong', body: wrong }), { status: 400 })
})
