import { chat } from './chat/dialect.ts'
import { generateContent } from './generate-content/dialect.ts'
import { type Handler, lookup, type SandboxParts } from './http/exchange.ts'
import { messages } from './messages/dialect.ts'

const created = '2026-01-01T00:00:00Z'

/** Any name is answered; these are listed. */
const listed = [
  'gpt-5.4',
  'gpt-5.4-mini',
  'gpt-4o',
  'gpt-4o-mini',
  'gpt-4o-audio-preview',
  'grok-4.3',
  'gemini-2.5-flash',
]

const asOpenAI = JSON.stringify({
  object: 'list',
  data: listed.map((id) => ({ id, object: 'model', created: Date.parse(created) / 1_000, owned_by: 'sandbox' })),
})

const asAnthropic = JSON.stringify({
  data: listed.map((id) => ({ type: 'model', id, display_name: id, created_at: created })),
  has_more: false,
  first_id: listed[0],
  last_id: listed.at(-1),
})

const asGoogle = JSON.stringify({ models: listed.map((id) => ({ name: `models/${id}`, displayName: id })) })

/** OpenAI's and Anthropic's lists have one path: the version header is Anthropic's. */
export const modelRoutes = (parts: SandboxParts): readonly (readonly [route: string, Handler])[] => {
  const ofOpenAI = lookup(chat, parts, () => asOpenAI)
  const ofAnthropic = lookup(messages, parts, () => asAnthropic)
  const listModels: Handler = (request, response) =>
    (request.headers['anthropic-version'] === undefined ? ofOpenAI : ofAnthropic)(request, response)
  return [
    ['GET /v1/models', listModels],
    ['GET /v1beta/models', lookup(generateContent, parts, () => asGoogle)],
  ]
}
