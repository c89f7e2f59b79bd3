import t from 'tap'
import type { JsonObject } from '../../src/encoding/json.ts'
import { finishSteps } from '../../src/encoding/steps.ts'
import { hiddenOutputOf, readHidingRequest } from '../../src/providers/hidden-output.ts'

type Surface = Parameters<typeof readHidingRequest>[0]
const readHiddenOutput = (
  surface: Surface,
  upstreamModel: string,
  body: JsonObject,
  hasThought: boolean,
  model = `provider/${upstreamModel}`,
) => hiddenOutputOf(finishSteps(readHidingRequest(surface, body)), { model, upstreamModel }, hasThought)

type Row = readonly [surface: Surface, upstreamModel: string, body: JsonObject, thinking: boolean, beyondText: boolean]

const table: readonly Row[] = [
  ['chat', 'gpt-4o', {}, false, false],
  ['chat', 'gpt-5-mini', {}, true, false],
  ['chat', 'gpt-5.1', { reasoning_effort: 'none' }, false, false],
  ['chat', 'gpt-5-chat-latest', {}, false, false],
  ['chat', 'o3', {}, true, false],
  ['chat', 'gemini-2.5-flash', {}, true, false],
  ['chat', 'gemini-2.0-flash', {}, false, false],
  ['chat', 'grok-4-fast-non-reasoning', {}, false, false],
  ['chat', 'grok-4-fast-reasoning', {}, true, false],
  ['chat', 'deepseek-r1', {}, true, false],
  ['chat', 'claude-opus-4-5', {}, false, false],
  ['chat', 'claude-opus-4-5', { reasoning_effort: 'low' }, true, false],
  ['chat', 'gpt-4o', { tools: [{ type: 'function', function: { name: 'f' } }] }, false, false],
  ['chat', 'gpt-4o-search-preview', {}, false, true],
  ['chat', 'sonar-pro', {}, false, true],
  ['chat', 'gpt-4o', { web_search_options: {} }, false, true],
  ['chat', 'gpt-4o', { tools: [{ type: 'google_search' }] }, false, true],
  ['chat', 'gpt-4o', { modalities: ['text', 'audio'] }, false, true],
  ['chat', 'gemini-2.5-flash-image', { reasoning_effort: 'none' }, false, true],
  ['messages', 'claude-sonnet-4-5', { thinking: { type: 'enabled', budget_tokens: 2_000 } }, true, false],
  ['messages', 'claude-opus-5-5', { thinking: { type: 'disabled' } }, false, false],
  ['messages', 'claude-opus-5-5', {}, true, false],
  ['messages', 'claude-sonnet-4-5', { tools: [{ name: 'f', input_schema: {} }] }, false, false],
  ['messages', 'claude-sonnet-4-5', { tools: [{ type: 'bash_20250124', name: 'bash' }] }, false, false],
  ['messages', 'claude-sonnet-4-5', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, false, true],
  ['messages', 'claude-sonnet-4-5', { mcp_servers: [{}] }, false, true],
  ['responses', 'gpt-4o', { tools: [{ type: 'function', name: 'f' }] }, false, false],
  ['responses', 'gpt-4o', { tools: [{ type: 'image_generation' }] }, false, true],
  ['responses', 'gpt-4o', { reasoning: { effort: 'low' } }, true, false],
  ['responses', 'gpt-4o', { previous_response_id: 'resp_1', input: 'and?' }, false, true],
  ['chat', 'gpt-4o', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, false, true],
  ['chat', 'gpt-4o', { messages: [{ role: 'user', content: [{ type: 'video_url' }] }] }, false, true],
  ['chat', 'gpt-4o', { messages: [{ role: 'user', content: [{ type: 'input_video' }] }] }, false, true],
  ['chat', 'gpt-4o', { messages: [{ role: 'user', content: [{ type: 'audio_url' }] }] }, false, true],
  ['chat', 'gpt-4o', { messages: [{ role: 'user', content: [{ type: 'document_url' }] }] }, false, true],
  ['chat', 'gpt-4o', { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }, false, false],
  [
    'messages',
    'claude-opus-4-5',
    { messages: [{ content: [{ type: 'document', source: { type: 'url' } }] }] },
    false,
    true,
  ],
  [
    'messages',
    'claude-opus-4-5',
    { messages: [{ content: [{ type: 'document', source: { type: 'text' } }] }] },
    false,
    false,
  ],
  ['gemini', 'gemini-2.0-flash', { contents: [{ parts: [{ inlineData: { mimeType: 'audio/mp3' } }] }] }, false, true],
  ['responses', 'grok-4', { input: [{ content: [{ type: 'input_file' }] }] }, true, true],
]

for (const [surface, upstreamModel, body, thinking, beyondText] of table)
  t.test(`${surface}, ${upstreamModel}, ${JSON.stringify(body)}`, async (t) => {
    t.same(readHiddenOutput(surface, upstreamModel, body, false), { thinking, beyondText })
  })

t.test('a model that was seen to think thinks, unless it is asked not to', async (t) => {
  t.match(readHiddenOutput('chat', 'mine', {}, true), { thinking: true })
  const body = { reasoning_effort: 'none' }
  t.match(readHiddenOutput('chat', 'mine', body, true), { thinking: false })
})

t.test(
  'a deployment of any name thinks as the model that it is called by, unless its own name shows better',
  async (t) => {
    for (const [model, upstreamModel, thinking] of [
      ['azure/gpt-5-mini', 'production', true],
      ['azure/gpt-4o', 'production', false],
      ['azure/gpt-5', 'our-gpt-5-chat', false],
      ['azure/fast', 'our-o3-mini', true],
      ['bedrock/claude-opus-5-5', 'anthropic/arn:aws:bedrock:eu-west-1:1:application-inference-profile/x', true],
    ] as const)
      t.match(readHiddenOutput('chat', upstreamModel, {}, false, model), { thinking }, model)
  },
)
