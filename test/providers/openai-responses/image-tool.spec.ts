import fc from 'fast-check'
import t from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import type { UsageBounds } from '../../../src/domain/pricing/worst-case.ts'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import { errorStatusOf } from '../../../src/http/error-table.ts'
import { providerLimits } from '../../../src/providers/dialect/limits.ts'
import { openaiResponses, readResponsesAnswer } from '../../../src/providers/openai-responses/dialect.ts'
import { ResponsesRelay } from '../../../src/providers/openai-responses/relay.ts'
import { countToolCalls } from '../../../src/providers/openai-responses/tool-calls.ts'
import { toolCallsMaxOf } from '../../../src/providers/openai-responses/tools.ts'
import { worstCasePicos } from '../../support/worst-case.ts'
import { askedOf, created, image, responseOf, sheetOf, sse, targetOf, toolEvents, usageOf } from './fixtures.ts'

const { buildRequest: responsesRequest } = openaiResponses

const tool = (more: JsonObject = {}): JsonObject => ({
  type: 'image_generation',
  model: 'gpt-image-1.5',
  quality: 'low',
  size: '1024x1024',
  ...more,
})
const bodyWith = (more: JsonObject = {}, input: unknown = 'Draw'): JsonObject => ({ tools: [tool(more)], input })

/** As OpenAI tells it: a recorded edit of two images. */
const toolUsage = (more: JsonObject = {}): JsonObject => ({
  image_gen: {
    input_tokens: 7_918,
    input_tokens_details: { image_tokens: 7_620, text_tokens: 298 },
    output_tokens: 280,
    output_tokens_details: { image_tokens: 272, text_tokens: 8 },
    total_tokens: 8_198,
    ...more,
  },
  web_search: { num_requests: 0 },
})

const name = (what: string, model = 'gpt-image-1.5'): string => `image_generation_${model}_${what}`
const made = { [name('low_1024x1024')]: 1 }
const edited = image('ig_1', { action: 'edit', revised_prompt: 'A cat, drawn.' })

t.test('what an image was made from is a line for each kind of token', async (t) => {
  const target = targetOf('openai', sheetOf('openai/gpt-5'))
  const response = responseOf([edited], { usage: usageOf(100, 10), tool_usage: toolUsage() })
  const answer = readResponsesAnswer(target, askedOf(bodyWith()), Buffer.from(JSON.stringify(response)))
  if ('fault' in answer || answer.reportedUsage === null) throw new Error('no usage')
  const charge = chargeFor(target.sheet, answer.reportedUsage)
  t.strictSame(
    charge.lines.slice(2).map(({ item, quantity, amount }) => [item, quantity, amount]),
    [
      [name('low_1024x1024'), 1, '0.009'],
      [name('input_text_tokens'), 298, '0.00149'], // 5 a million
      [name('input_image_tokens'), 7_620, '0.06096'], // 8 a million
      [name('output_text_tokens'), 8, '0.00008'], // 10 a million
    ],
  )
  t.equal(formatUsd(charge.totalPicos), '0.071755') // 0.000125 + 0.0001 + the four above
})

t.test('what the answer tells of what an image was made from', async (t) => {
  const cached = { cached_tokens: 700, cached_tokens_details: { cached_image_tokens: 600, cached_text_tokens: 100 } }
  const text = { output_tokens_details: { image_tokens: 280, text_tokens: 0 } }
  const counted = (more: JsonObject): JsonObject =>
    countToolCalls(bodyWith(), [edited], toolUsage({ ...text, ...more })) as JsonObject
  t.strictSame(counted(cached), {
    ...made,
    [name('input_text_tokens')]: 198,
    [name('cached_input_text_tokens')]: 100,
    [name('input_image_tokens')]: 7_020,
    [name('cached_input_image_tokens')]: 600,
  })
  t.strictSame(counted({ input_tokens_details: null }), { ...made, [name('input_image_tokens')]: 7_918 })
  t.strictSame(counted({ input_tokens_details: { image_tokens: 9, text_tokens: 9_999 } }), {
    ...made,
    [name('input_text_tokens')]: 7_918,
  })
})

t.test('the model of the tool names the price, also where no tool was declared', async (t) => {
  const named = (body: JsonObject): readonly string[] =>
    Object.keys(countToolCalls(body, [edited], toolUsage())).filter((item) => item.endsWith('input_text_tokens'))
  t.strictSame(named(bodyWith({ model: 'gpt-image-1-mini' })), [name('input_text_tokens', 'gpt-image-1-mini')])
  t.strictSame(named({}), [name('input_text_tokens')])
})

const picture = { type: 'input_image', image_url: 'data:image/png;base64,AA==' }
const twoPictures = [{ role: 'user', content: [picture, picture] }]

t.test('where the answer is silent the least is counted that the images can have read', async (t) => {
  const prompt = { [name('input_text_tokens')]: 4 } // 13 characters
  const least = (body: JsonObject, item = edited) => countToolCalls(body, [item], toolUsage({ input_tokens: 0 }))
  t.strictSame(least(bodyWith()), { ...made, ...prompt })
  t.strictSame(least(bodyWith({}, twoPictures)), { ...made, ...prompt, [name('input_image_tokens')]: 2 * 194 })
  t.strictSame(least(bodyWith({ input_fidelity: 'high' }, twoPictures)), {
    ...made,
    ...prompt,
    [name('input_image_tokens')]: 2 * 4_354,
  })
  t.strictSame(least(bodyWith({}, twoPictures), { ...edited, action: 'generate' }), { ...made, ...prompt })
  const earlier = [{ type: 'image_generation_call', id: 'ig_0', status: 'completed', result: 'AA==' }]
  t.match(countToolCalls(bodyWith({}, earlier), [edited]), { [name('input_image_tokens')]: 194 })
})

t.test('a stream that breaks off is billed for what its images read, too', async (t) => {
  const body = bodyWith({}, twoPictures)
  const relay = new ResponsesRelay(targetOf(), askedOf(body, true))
  const push = (events: readonly JsonObject[]) => relay.push(Buffer.from(events.map(sse).join('')))
  push([...created(), ...toolEvents(edited, 0)])
  t.strictSame(relay.delivered.toolCalls, {
    ...made,
    [name('input_text_tokens')]: 4,
    [name('input_image_tokens')]: 388,
  })
  const end = responseOf([edited], { usage: usageOf(1, 1), tool_usage: toolUsage() })
  push([{ type: 'response.completed', response: end }])
  t.match(relay.reportedUsage?.toolCalls, { ...made, [name('input_image_tokens')]: 7_620 }, 'its end knows better')
})

const refusal = (body: JsonObject, perCall?: JsonObject): string => {
  const sheet = sheetOf('openai/gpt-5')
  const priced = perCall === undefined ? sheet : { ...sheet, per_call: perCall as { [item: string]: string } }
  try {
    responsesRequest(targetOf('openai', priced), askedOf(body))
  } catch (fault) {
    if (fault instanceof GatewayError) return `${errorStatusOf(fault)} ${fault.code} ${fault.param}`
    throw fault
  }
  return ''
}

t.test('an image is made only where all that it reads has a price', async (t) => {
  const all = sheetOf('openai/gpt-5').per_call ?? {}
  for (const more of [{ input_fidelity: 'high' }, { action: 'edit' }, { input_image_mask: { image_url: 'data:,' } }])
    t.equal(refusal(bodyWith(more)), '', JSON.stringify(more))
  const reads = Object.keys(all).filter((item) => /gpt-image-1\.5.*input.*_tokens$/.test(item))
  t.equal(reads.length, 4)
  for (const missing of reads) {
    const { [missing]: _gone, ...rest } = all
    const demanded = { ...bodyWith(), tool_choice: { type: 'image_generation' } }
    t.equal(refusal(demanded, rest), '400 unsupported_parameter tools[0].type', missing)
  }
})

t.test('what images can read is reserved', async (t) => {
  const high = name('low_1024x1024')
  const most = (body: JsonObject) => toolCallsMaxOf(body, true)
  const low = providerLimits.imageToolImageTokensMax
  const texts = { [name('input_text_tokens')]: providerLimits.imageToolPromptTokensMax }
  t.strictSame(most({ ...bodyWith(), max_tool_calls: 1 }), { [high]: 1, ...texts })
  t.strictSame(most({ ...bodyWith({}, twoPictures), max_tool_calls: 1 }), {
    [high]: 1,
    ...texts,
    [name('input_image_tokens')]: 2 * low,
  })
  // The first reads two, the second also the first, and so on: 2 + 3 + 4 + 5.
  t.match(most(bodyWith({}, twoPictures)), { [high]: 4, [name('input_image_tokens')]: 14 * low })
  const mask = { input_image_mask: { image_url: 'data:image/png;base64,AA==' } }
  t.match(most({ ...bodyWith(mask), max_tool_calls: 1 }), { [name('input_image_tokens')]: low })
  const faithful = { ...bodyWith({ input_fidelity: 'high' }, twoPictures), max_tool_calls: 1 }
  t.match(most(faithful), { [name('input_image_tokens')]: 2 * (low + providerLimits.imageToolFidelityTokensMax) })
  const goingOn = { ...bodyWith(), previous_response_id: 'resp_1', max_tool_calls: 2 }
  t.match(most(goingOn), { [name('input_image_tokens')]: 2 * providerLimits.imageToolImagesMax * low })
  t.ok(Number.isFinite(most({ ...bodyWith(), max_tool_calls: 1e308 })[name('input_image_tokens')]))
})

t.test('no image within its bounds costs more than was reserved for it', async () => {
  const sheet = sheetOf('openai/gpt-5')
  const models = fc.constantFrom('gpt-image-1', 'gpt-image-1.5', 'gpt-image-1-mini')
  const fidelities = fc.constantFrom('low', 'high')
  fc.assert(
    fc.property(models, fidelities, fc.nat(20), fc.nat(1_000), (model, input_fidelity, pictures, share) => {
      const input = [{ role: 'user', content: Array.from({ length: pictures }, () => picture) }]
      const body = { ...bodyWith({ model, input_fidelity }, input), max_tool_calls: 1 }
      const perImage =
        providerLimits.imageToolImageTokensMax +
        (input_fidelity === 'high' ? providerLimits.imageToolFidelityTokensMax : 0)
      const images = Math.floor((Math.min(pictures, providerLimits.imageToolImagesMax) * perImage * share) / 1_000)
      const text = Math.floor((providerLimits.imageToolPromptTokensMax * share) / 1_000)
      const told = { input_tokens: images + text, input_tokens_details: { image_tokens: images, text_tokens: text } }
      const toolCalls = countToolCalls(body, [edited], { image_gen: told })
      const demand: UsageBounds = {
        inputTokensMax: 0,
        unmeasured: false,
        outputTokensMax: 0,
        choices: 1,
        audio: false,
        image: false,
        toolCallsMax: toolCallsMaxOf(body, true),
      }
      return chargeFor(sheet, { ...noUsage, toolCalls }).totalPicos <= worstCasePicos(sheet, demand)
    }),
  )
})
