/**
 * In a process of its own: reads what it is sent, and refuses it, or answers without usage where the model is `mute`, or
 * with a stream where it is `streamed`.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beginStream, closingEvents, wordsEvent } from '../support/hostile-upstream.ts'

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

const events = (...each: readonly Readonly<Record<string, unknown>>[]): string =>
  each.map((event) => `event: ${event['type']}\ndata: ${JSON.stringify(event)}\n\n`).join('')

const streamedMessage = (): string =>
  events(
    { type: 'message_start', message: { id: 'm', content: [], usage: { input_tokens: 3, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello!' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  )

/** As OpenAI does, it repeats the tools. */
const streamedResponse = ({ tools }: { readonly tools?: readonly unknown[] }): string => {
  const response = { id: 'r', object: 'response', status: 'in_progress', tools: tools ?? [], output: [] }
  const usage = { input_tokens: 3, output_tokens: 1, total_tokens: 4 }
  return events(
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
    { type: 'response.output_text.delta', item_id: 'i', output_index: 0, content_index: 0, delta: 'Hello!' },
    { type: 'response.completed', response: { ...response, status: 'completed', usage } },
  )
}

const streams: readonly (readonly [path: RegExp, stream: (body: Buffer) => string])[] = [
  [/\/chat\/completions$/, () => wordsEvent('Hello!') + closingEvents(3, 1)],
  [/\/messages$/, streamedMessage],
  [/\/responses$/, (body) => streamedResponse(JSON.parse(body.toString()))],
]

const matching = <Found>(table: readonly (readonly [path: RegExp, found: Found])[], url = ''): Found | undefined =>
  table.find(([path]) => path.test(url))?.[1]

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray())
  const stream = body.includes('"streamed"') ? matching(streams, request.url) : undefined
  if (stream !== undefined) {
    beginStream(response)
    response.end(stream(body))
    return
  }
  const answer = body.includes('"mute"') ? matching(answers, request.url) : undefined
  response.writeHead(answer === undefined ? 503 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(answer ?? { error: { message: 'Not now.' } }))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
process.once('disconnect', () => process.exit())
process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, models: [] })
