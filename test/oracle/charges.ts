import { chargeFor } from '../../src/domain/pricing/charge.ts'
import type { Usage } from '../../src/domain/usage/usage.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import type { Target, UpstreamCallRequest, UpstreamDialect } from '../../src/providers/dialect/dialect.ts'
import type { Provider } from '../../src/providers/dialect/provider.ts'
import { dialects } from '../../src/providers/dialects.ts'
import { isSearchModel } from '../../src/providers/openai/usage.ts'
import { frame } from '../support/clouds/converse.ts'
import { type Flavor, type OracleCase, type OracleModel, searchToolOf } from './usages.ts'

const providers: { readonly [P in OracleModel['provider']]: Pick<Provider, 'dialect' | 'profile'> } = {
  openai: { dialect: 'openai', profile: 'openai' },
  xai: { dialect: 'openai', profile: 'xai' },
  anthropic: { dialect: 'anthropic', profile: 'openai' },
  google: { dialect: 'google', profile: 'openai' },
  azure: { dialect: 'azure', profile: 'openai' },
  vertex: { dialect: 'vertex', profile: 'gemini' },
  bedrock: { dialect: 'bedrock', profile: 'openai' },
}

const surfaceOf: { readonly [F in Flavor]: 'chat' | 'responses' | 'messages' } = {
  chat: 'chat',
  responses: 'responses',
  messages: 'messages',
  gemini: 'chat',
  converse: 'chat',
}

const dialectOf = ({ model, flavor }: OracleCase): UpstreamDialect =>
  dialects[providers[model.provider].dialect][surfaceOf[flavor]]

const targetOf = ({ name, provider, sheet }: OracleModel): Target => ({
  provider: { name: provider, baseUrl: 'https://provider.example/v1', apiKey: 'a-key', ...providers[provider] },
  model: `${provider}/${name}`,
  upstreamModel: name.replace(/^vertex_ai\//, ''),
  sheet,
  calledAtSeconds: 1_760_000_000,
})

const toolsOf = ({ model, searches, calls }: OracleCase): readonly JsonObject[] => [
  ...(searches > 0 ? [{ type: searchToolOf(model) ?? 'web_search' }] : []),
  ...Object.keys(calls).map((type) => ({ type })),
]

const asked = (each: OracleCase, stream: boolean): UpstreamCallRequest => ({
  requestId: 'request-1',
  body: {
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    input: 'Hi',
    max_tokens: 10,
    ...(each.flavor === 'responses' ? { tools: toolsOf(each) } : {}),
  },
  stream,
  outputCap: null,
})

const chat = { id: 'a', created: 1, model: 'm' }
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' }
const item = { id: 'i', type: 'message', role: 'assistant', status: 'completed' }
const outputText = { ...item, content: [{ type: 'output_text', text: 'a', annotations: [] }] }

const citation = {
  type: 'url_citation',
  url_citation: { url: 'https://a.example', title: 'a', start_index: 0, end_index: 1 },
}

const searchCall = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } }

const repeat = (count: number | undefined, item: (place: number) => JsonObject): readonly JsonObject[] =>
  Array.from({ length: count ?? 0 }, (_, place) => item(place))

const fileSearch = { type: 'file_search_call', status: 'completed', queries: ['q'], results: null }
const codeRun = { type: 'code_interpreter_call', status: 'completed', code: '1', outputs: [] }

/** Code runs twice in each container. */
const outputOf = ({ model, searches, calls }: OracleCase): readonly JsonObject[] => {
  if (model.provider !== 'openai') return [outputText]
  const runs = (calls['code_interpreter'] ?? 0) * 2
  return [
    ...repeat(searches, (place) => ({ id: `ws_${place}`, ...searchCall })),
    ...repeat(calls['file_search'], (place) => ({ id: `fs_${place}`, ...fileSearch })),
    ...repeat(runs, (place) => ({ id: `ci_${place}`, container_id: `cntr_${Math.floor(place / 2)}`, ...codeRun })),
    outputText,
  ]
}

const groundingOf = ({ searches }: OracleCase): JsonObject =>
  searches === 0
    ? {}
    : { groundingMetadata: { webSearchQueries: Array.from({ length: searches }, (_, place) => `query ${place}`) } }

/** The body of a whole answer. */
export const wholeAnswer = (each: OracleCase): JsonObject => {
  const { model, flavor, usage, tier } = each
  const service_tier = tier ?? 'default'
  switch (flavor) {
    case 'chat': {
      const choices = [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'a',
            ...(isSearchModel(model.name) ? { annotations: [citation] } : {}),
          },
          finish_reason: 'stop',
        },
      ]
      return { ...chat, object: 'chat.completion', choices, usage, service_tier }
    }
    case 'responses':
      return { id: 'resp_1', object: 'response', status: 'completed', output: outputOf(each), usage, service_tier }
    case 'messages':
      return { ...message, content: [{ type: 'text', text: 'a' }], usage }
    case 'gemini': {
      const candidates = [
        { index: 0, content: { role: 'model', parts: [{ text: 'a' }] }, finishReason: 'STOP', ...groundingOf(each) },
      ]
      return { candidates, usageMetadata: usage, modelVersion: 'm', responseId: 'a' }
    }
    case 'converse':
      return { output: { message: { role: 'assistant', content: [{ text: 'a' }] } }, stopReason: 'end_turn', usage }
  }
}

const chatChunk = (more: JsonObject) => ({ ...chat, object: 'chat.completion.chunk', choices: [], ...more })

/** Anthropic reports the input first, and the output as one token; its end replaces both. */
const messagesEvents = (usage: JsonObject): readonly JsonObject[] => [
  { type: 'message_start', message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
  { type: 'message_stop' },
]

const eventsOf = (each: OracleCase): readonly JsonObject[] => {
  const { flavor, usage, tier } = each
  const service_tier = tier ?? 'default'
  switch (flavor) {
    case 'chat':
      return [
        chatChunk({ service_tier, choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] }),
        chatChunk({ service_tier, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
        chatChunk({ service_tier, usage }),
      ]
    case 'responses': {
      const response = wholeAnswer(each)
      return [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
        ...outputOf(each).flatMap((one, output_index) => [
          {
            type: 'response.output_item.added',
            output_index,
            item: one === outputText ? { ...item, content: [] } : one,
          },
          { type: 'response.output_item.done', output_index, item: one },
        ]),
        { type: 'response.completed', response },
      ]
    }
    case 'messages':
      return messagesEvents(usage)
    case 'gemini':
      return [wholeAnswer(each)]
    case 'converse':
      return [
        { type: 'messageStart', role: 'assistant' },
        { type: 'contentBlockDelta', contentBlockIndex: 0, delta: { text: 'a' } },
        { type: 'contentBlockStop', contentBlockIndex: 0 },
        { type: 'messageStop', stopReason: 'end_turn' },
        { type: 'metadata', usage, metrics: { latencyMs: 1 } },
      ]
  }
}

const eventFrame = ({ flavor }: OracleCase, json: JsonObject): Uint8Array => {
  const { type, ...payload } = json
  if (flavor === 'converse') return frame('event', String(type), payload)
  return frame('event', 'chunk', { bytes: Buffer.from(JSON.stringify(json)).toString('base64') })
}

const eventText = (flavor: Flavor, json: JsonObject): string =>
  `${flavor === 'messages' || flavor === 'responses' ? `event: ${String(json['type'])}\n` : ''}data: ${JSON.stringify(json)}\n\n`

const readWhole = (each: OracleCase): Usage | null => {
  const body = Buffer.from(JSON.stringify(wholeAnswer(each)))
  const answer = dialectOf(each).readAnswer(targetOf(each.model), asked(each, false), body)
  if ('fault' in answer) throw new Error(answer.fault)
  return answer.reportedUsage
}

const streamOf = (each: OracleCase): Uint8Array => {
  const events = eventsOf(each)
  if (each.model.provider === 'bedrock') return Buffer.concat(events.map((json) => eventFrame(each, json)))
  const text = events.map((json) => eventText(each.flavor, json)).join('')
  return Buffer.from(text + (each.flavor === 'chat' ? 'data: [DONE]\n\n' : ''))
}

const readStream = (each: OracleCase): Usage | null => {
  const relay = dialectOf(each).openRelay(targetOf(each.model), asked(each, true))
  relay.push(streamOf(each))
  relay.end()
  if (relay.fault !== null) throw new Error(relay.fault)
  return relay.reportedUsage
}

export interface OurCharge {
  readonly usage: Usage
  readonly picos: bigint
}

/** Throws where a usage is not read, or a stream is charged otherwise than the same answer as a whole. */
export const chargeCase = (each: OracleCase): OurCharge => {
  const [usage, streamed] = [readWhole(each), readStream(each)]
  if (usage === null || streamed === null) throw new Error(`usage is not read: ${JSON.stringify(each)}`)
  const [picos, streamedPicos] = [usage, streamed].map((one) => chargeFor(each.model.sheet, one).totalPicos)
  if (picos !== streamedPicos) throw new Error(`a stream is charged otherwise: ${JSON.stringify(each)}`)
  return { usage, picos: picos! }
}
