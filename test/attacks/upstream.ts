/** The attacks' upstream, as a process of its own. */
import { setTimeout as pause } from 'node:timers/promises'
import { providerLimits } from '../../src/providers/dialect/limits.ts'
import { type Behaviour, beginStream, serveHostileUpstream, wordsEvent } from '../support/hostile-upstream.ts'

const answerOf = (content: string): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 8, completion_tokens: 4, total_tokens: 12 },
  })

const quickAnswer = answerOf('Hello!')
const largeAnswer = answerOf('x'.repeat(400 * 1024))
const piece = wordsEvent('x'.repeat(1024))
const pieceMs = 20 // Twice as fast as models write.

const answerWith =
  (text: string): Behaviour =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  }

const anthropicHead = `event: message_start\ndata: ${JSON.stringify({
  type: 'message_start',
  message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage: { input_tokens: 8 } },
})}\n\n`
const textBlock = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
const anthropicBlock = `event: content_block_start\ndata: ${JSON.stringify(textBlock)}\n\n`
const anthropicWords = (text: string): string =>
  `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })}\n\n`

/** Of a stream that is translated: so many events at once. */
const sendEvents =
  (event: string, count: number): Behaviour =>
  (response) => {
    beginStream(response)
    response.end(anthropicHead + anthropicBlock + event.repeat(count))
  }

const vectors = JSON.stringify({
  object: 'list',
  model: 'm',
  data: [{ object: 'embedding', index: 0, embedding: [1] }],
  usage: { prompt_tokens: 8, total_tokens: 8 },
})

const streamEndlessly: Behaviour = async (response) => {
  beginStream(response)
  while (!response.destroyed) {
    if (!response.writableNeedDrain) response.write(piece)
    await pause(pieceMs)
  }
}

/** A provider that admits so many at once and then so many a second, of everybody together. */
const limitTo = ({ burst, perSecond }: { readonly burst: number; readonly perSecond: number }): Behaviour => {
  let [left, sinceMs] = [burst, performance.now()]
  return (response, asked) => {
    const nowMs = performance.now()
    left = Math.min(burst, left + ((nowMs - sinceMs) / 1_000) * perSecond)
    sinceMs = nowMs
    if (left >= 1) {
      left -= 1
      return answerWith(quickAnswer)(response, asked)
    }
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' })
    response.end('{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}')
  }
}

const behaviours: Readonly<Record<string, Behaviour>> = {
  quick: answerWith(quickAnswer),
  large: answerWith(largeAnswer),
  hung: () => undefined,
  endless: streamEndlessly,
  limited: limitTo({ burst: 80, perSecond: 21 }), // A little above what the gateway's configuration has.
  vectors: answerWith(vectors),
  /** One event, a little below the bound. */
  'large-event': sendEvents(anthropicWords('x'.repeat(providerLimits.translatedEventBytesMax - 1_024)), 1),
  'many-events': sendEvents(anthropicWords('word '), 20_000),
}

await serveHostileUpstream(behaviours)
