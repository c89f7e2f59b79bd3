import t from 'tap'
import { DeliveredBlocks } from '../../src/providers/anthropic/delivered.ts'
import { countMessagesUsage } from '../../src/providers/anthropic/estimate.ts'
import { DeliveredReply } from '../../src/providers/canonical/delivered.ts'
import { countOutput } from '../../src/providers/dialect/tokens.ts'
import { GenerateContentReader } from '../../src/providers/google/reader.ts'
import { DeliveredText } from '../../src/providers/openai/delivered.ts'
import { DeliveredOutput } from '../../src/providers/openai-responses/delivered.ts'
import { answerOf } from './google/answers.ts'
import { targetOf as geminiTarget } from './google/target.ts'
import { askedOf, sheet, targetOf } from './openai/target.ts'

const data = 'x'.repeat(400)

t.test('redacted thinking, and a signature whose thinking is not shown, count a quarter of their length', async (t) => {
  const blocks = new DeliveredBlocks()
  blocks.addBlock({ type: 'redacted_thinking', data })
  blocks.addBlock({ type: 'thinking', thinking: '', signature: '' })
  blocks.addDelta({ type: 'signature_delta', signature: data })
  t.match(await countOutput(blocks), { total: 200, reasoning: 200 })
  blocks.addBlock({ type: 'thinking', thinking: '', signature: '' })
  blocks.addDelta({ type: 'thinking_delta', thinking: 'one two three' })
  blocks.addDelta({ type: 'signature_delta', signature: data })
  t.match(await countOutput(blocks), { total: 203, reasoning: 203 }, 'shown thinking is counted itself')

  const reply = new DeliveredReply()
  reply.addEvent({ type: 'redacted_thinking', data })
  reply.addEvent({ type: 'signature', signature: data })
  reply.addEvent({ type: 'thinking', text: 'one two three' })
  reply.addEvent({ type: 'signature', signature: data })
  t.match(await countOutput(reply), { total: 203, reasoning: 203 })

  const output = new DeliveredOutput(() => ({}))
  output.setItem(0, { type: 'reasoning', summary: [], encrypted_content: data })
  output.setItem(1, { type: 'reasoning', summary: [{ type: 'summary_text', text: 'one' }], encrypted_content: data })
  t.match(await countOutput(output), { total: 101, reasoning: 101 })
})

t.test('audio and images count', async (t) => {
  const text = new DeliveredText()
  text.add([{ index: 0, delta: { audio: { data: 'x'.repeat(6_400), transcript: 'one' } } }], 'delta')
  text.add([{ index: 0, delta: { images: [{ type: 'image_url', image_url: { url: 'data:' } }] } }], 'delta')
  t.match(await countOutput(text), { total: 1 + 2 + 1_290, audio: 2, image: 1_290 })

  const reader = new GenerateContentReader(geminiTarget())
  const blob = (mimeType: string, characters: number) => ({ inlineData: { mimeType, data: 'x'.repeat(characters) } })
  const events = reader.take(answerOf([{ text: 'one' }, blob('image/png', 4), blob('audio/L16;rate=24000', 6_400)]))
  const reply = new DeliveredReply()
  for (const event of 'fault' in events ? [] : events) reply.addEvent(event)
  t.match(await countOutput(reply), { total: 1 + 2 + 1_290, audio: 2, image: 1_290 })

  const output = new DeliveredOutput(() => ({}))
  output.note({ type: 'response.audio.delta', delta: 'x'.repeat(6_400) })
  t.match(await countOutput(output), { total: 2, audio: 2 })
  const content = [{ type: 'output_audio', data: 'x'.repeat(6_400), transcript: 'one' }]
  output.setItem(0, { type: 'message', content })
  t.match(await countOutput(output), { total: 3, audio: 2 })
})

t.test('a region with a price counts as asked for', async (t) => {
  const regional = { ...sheet, region_multipliers: { us: '1.1' } }
  const regionOf = async (prices: typeof sheet) => {
    const target = targetOf('openai', 'claude-opus-5', prices)
    return (await countMessagesUsage(target, askedOf({ inference_geo: 'us' }), new DeliveredBlocks())).inferenceGeo
  }
  t.equal(await regionOf(regional), 'us')
  t.equal(await regionOf(sheet), undefined)
})

t.test('what a messages request marks for the cache is counted as written to it', async (t) => {
  const long = 'one two three four five '.repeat(20)
  const mark = (ttl?: string) => ({ cache_control: { type: 'ephemeral', ...(ttl === undefined ? {} : { ttl }) } })
  const body = {
    system: [{ type: 'text', text: long, ...mark('1h') }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: long, ...mark() }] },
      { role: 'user', content: 'and now?' },
    ],
  }
  const usage = await countMessagesUsage(targetOf(), askedOf(body), new DeliveredBlocks())
  t.ok(usage.cacheWrite1h >= 100 && usage.cacheWrite1h <= 102, `${usage.cacheWrite1h} of an hour`)
  t.ok(usage.cacheWrite5m >= 100 && usage.cacheWrite5m <= 102, `${usage.cacheWrite5m} of five minutes`)
  t.ok(usage.inputUncached > 0 && usage.inputUncached < 20)
  const unmarked = { messages: [{ role: 'user', content: long }] }
  t.match(await countMessagesUsage(targetOf(), askedOf(unmarked), new DeliveredBlocks()), {
    cacheWrite5m: 0,
    cacheWrite1h: 0,
  })
})
