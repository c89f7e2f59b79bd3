/** In a process of its own: reads what it is sent, and refuses it, or answers without usage where the model is `mute`. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const message = { role: 'assistant', content: 'Hello!', refusal: null }
const answers: readonly (readonly [path: RegExp, answer: object])[] = [
  [/\/embeddings$/, { object: 'list', model: 'mute', data: [{ object: 'embedding', index: 0, embedding: [1] }] }],
  [
    /\/chat\/completions$/,
    {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'mute',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    },
  ],
]

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray())
  const [, answer] = answers.find(([path]) => path.test(request.url ?? '')) ?? []
  const isMute = body.includes('"mute"') && answer !== undefined
  response.writeHead(isMute ? 200 : 503, { 'content-type': 'application/json' })
  response.end(JSON.stringify(isMute ? answer : { error: { message: 'Not now.' } }))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
process.once('disconnect', () => process.exit())
process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, models: ['plain', 'mute'] })
