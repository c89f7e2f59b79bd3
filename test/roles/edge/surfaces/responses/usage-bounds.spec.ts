import t from 'tap'
import { providerLimits } from '../../../../../src/providers/dialect/limits.ts'
import { surfaceLimits } from '../../../../../src/roles/edge/surfaces/limits.ts'
import type { ResponsesRequest } from '../../../../../src/roles/edge/surfaces/responses/request.types.ts'
import { boundResponsesUsage } from '../../../../../src/roles/edge/surfaces/responses/usage-bounds.ts'
import { sharedLimits } from '../../../../../src/runtime/limits.ts'

const ask = (change: object = {}): ResponsesRequest => ({ model: 'openai/plain', input: 'Grüezi', ...change })
const bytesOf = (request: object): number => Buffer.byteLength(JSON.stringify(request))
const demandFor = (request: ResponsesRequest, isBoundObeyed = true): ReturnType<typeof boundResponsesUsage> =>
  boundResponsesUsage(request, bytesOf(request), isBoundObeyed)

t.test('text counts by its bytes', async (t) => {
  const demand = { inputTokensMax: bytesOf(ask()), unmeasured: false, outputTokensMax: null, choices: 1 }
  t.same(demandFor(ask()), { ...demand, audio: false, image: false, toolCallsMax: { web_search_medium: 1 } })
  t.equal(demandFor(ask({ max_output_tokens: 9 })).outputTokensMax, 9)
})

const url = `data:image/png;base64,${'A'.repeat(100_000)}`
const inMessage = (part: object): ResponsesRequest => ask({ input: [{ role: 'user', content: [part] }] })
const inResult = (output: unknown): ResponsesRequest =>
  ask({ input: [{ type: 'function_call_output', call_id: 'a', output }] })

t.test('images, wherever they stand', async (t) => {
  const rows: readonly (readonly [ResponsesRequest, dataBytes: number])[] = [
    [inMessage({ type: 'input_image', image_url: url }), url.length],
    [inResult([{ type: 'input_image', image_url: url }]), url.length],
    [inResult({ type: 'computer_screenshot', image_url: url }), url.length],
    [ask({ input: [{ type: 'image_generation_call', id: 'a', result: 'A'.repeat(5_000) }] }), 5_000],
    [inMessage({ type: 'input_image', image_url: 'https://x.example/a.png' }), 0],
  ]
  for (const [request, dataBytes] of rows)
    t.match(demandFor(request), {
      inputTokensMax: bytesOf(request) - dataBytes + surfaceLimits.imageTokensMax,
      image: true,
    })
  t.equal(demandFor(inResult('plain text')).image, false)
})

t.test('a mask is an image', async (t) => {
  const masked = ask({ tools: [{ type: 'image_generation', input_image_mask: { image_url: url } }] })
  t.match(demandFor(masked), { inputTokensMax: bytesOf(masked) - url.length + surfaceLimits.imageTokensMax })
})

t.test('audio, and what cannot be measured', async (t) => {
  const clip = inMessage({ type: 'input_audio', input_audio: { data: 'A'.repeat(64_000), format: 'wav' } })
  t.match(demandFor(clip), { inputTokensMax: bytesOf(clip) - 64_000 + 1_000, audio: true })
  t.ok(demandFor(inMessage({ type: 'input_file', file_data: 'AA==' })).unmeasured)
  t.ok(demandFor(ask({ previous_response_id: 'resp_1' })).unmeasured)
  t.ok(demandFor(ask({ tools: [{ type: 'mcp', server_url: 'https://x.example' }] })).unmeasured)
  t.notOk(demandFor(ask({ previous_response_id: null })).unmeasured)
})

t.test('built-in tools, as often as the caller allows', async (t) => {
  const tools = [{ type: 'web_search' }, { type: 'x_search' }]
  // Under each name that a provider of translated answers charges by.
  const elsewhere = { web_search_medium: 1, grounded_prompt: 1, grounding_query: sharedLimits.webSearchesMax }
  t.same(demandFor(ask({ tools })).toolCallsMax, {
    ...elsewhere,
    web_search: sharedLimits.webSearchesMax,
    x_search: providerLimits.xSearchesMax,
  })
  const bounded = ask({ tools, max_tool_calls: 2 })
  t.same(demandFor(bounded).toolCallsMax, { ...elsewhere, web_search: 2, x_search: 2 })
  t.same(demandFor(bounded, false).toolCallsMax, demandFor(ask({ tools })).toolCallsMax, 'where nobody is bound by it')
})
