import t from 'tap'
import type { ChatCompletionRequest, ContentPart } from '../../../../../src/roles/edge/surfaces/chat/request.types.ts'
import { boundChatUsage } from '../../../../../src/roles/edge/surfaces/chat/usage-bounds.ts'
import { surfaceLimits } from '../../../../../src/roles/edge/surfaces/limits.ts'
import { sharedLimits } from '../../../../../src/runtime/limits.ts'

const bytesOf = (request: ChatCompletionRequest): number => Buffer.byteLength(JSON.stringify(request))

const withParts = (...content: ContentPart[]): ChatCompletionRequest => ({
  model: 'openai/plain',
  messages: [{ role: 'user', content }],
})
const demandFor = (request: ChatCompletionRequest): ReturnType<typeof boundChatUsage> =>
  boundChatUsage(request, bytesOf(request))
const plain = withParts({ type: 'text', text: 'Grüezi 👋' })

t.test('text counts by its bytes', async (t) => {
  t.match(demandFor(plain), {
    inputTokensMax: bytesOf(plain),
    audio: false,
    image: false,
    choices: 1,
    outputTokensMax: null,
  })
})

t.test('an inline image counts as an image, not by its bytes', async (t) => {
  const image = (url: string): ChatCompletionRequest => withParts({ type: 'image_url', image_url: { url } })
  const small = demandFor(image('data:image/png;base64,AAAA'))
  const large = demandFor(image(`data:image/png;base64,${'A'.repeat(1_000_000)}`))
  t.equal(small.inputTokensMax, large.inputTokensMax)
  t.equal(large.inputTokensMax, bytesOf(image('')) + surfaceLimits.imageTokensMax)
  t.ok(large.image)
  const linked = image('https://x.example/a.png')
  t.equal(demandFor(linked).inputTokensMax, bytesOf(linked) + surfaceLimits.imageTokensMax)
})

t.test('audio counts by its length', async (t) => {
  const audio = (data: string): ChatCompletionRequest =>
    withParts({ type: 'input_audio', input_audio: { data, format: 'wav' } })
  t.equal(demandFor(audio('AAAA')).inputTokensMax, bytesOf(audio('')) + surfaceLimits.audioTokensMin)
  t.equal(demandFor(audio('A'.repeat(64_000))).inputTokensMax, bytesOf(audio('')) + 1_000)
  t.ok(demandFor(audio('AAAA')).audio)
  t.ok(demandFor({ ...plain, modalities: ['text', 'audio'] }).audio)
})

t.test('what only looks like media counts as text', async (t) => {
  const url = `data:image/png;base64,${'A'.repeat(10_000)}`
  const disguised = withParts({ type: 'text', text: 'x', image_url: { url } })
  t.equal(demandFor(disguised).inputTokensMax, bytesOf(disguised))
  const file = withParts({ type: 'file', file: { file_data: url } })
  t.equal(demandFor(file).inputTokensMax, bytesOf(file))
  t.ok(demandFor(file).unmeasured, 'what a file unpacks to is not known here: it may fill the context')
  const pdf = withParts({ type: 'image_url', image_url: { url: 'data:application/pdf;base64,JVBERi0=' } })
  t.ok(demandFor(pdf).unmeasured)
  t.notOk(demandFor(withParts({ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } })).unmeasured)
})

t.test('the output, the choices, the search', async (t) => {
  t.equal(demandFor({ ...plain, max_tokens: 7 }).outputTokensMax, 7)
  t.equal(demandFor({ ...plain, max_completion_tokens: 9, max_tokens: null }).outputTokensMax, 9)
  t.equal(demandFor({ ...plain, max_completion_tokens: 9, max_tokens: 70 }).outputTokensMax, 70)
  t.equal(demandFor({ ...plain, n: 3 }).choices, 3)
  t.same(demandFor(plain).toolCallsMax, { web_search_medium: 1 })
  t.same(demandFor({ ...plain, web_search_options: { search_context_size: 'high' } }).toolCallsMax, {
    web_search_high: 1,
    web_search: sharedLimits.webSearchesMax,
    grounded_prompt: 1,
    grounding_query: sharedLimits.webSearchesMax,
  })
})
