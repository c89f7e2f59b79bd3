import { checkMessages } from '../../../sandbox/messages/check.ts'
import { asArray, asObject, asText, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import { type Asked, type Counted, piecesOf, type Reply } from '../script.ts'
import { type Format, isStreamed, textIn } from './format.ts'

const readAsked = ({ messages, tools }: JsonObject): Asked => {
  const { content } = asObject(asArray(messages).findLast((each) => asObject(each)['role'] === 'user'))
  const result = asArray(content)
    .map(asObject)
    .findLast(({ type }) => type === 'tool_result')
  return {
    tools: asArray(tools).map((tool) => asText(asObject(tool)['name'])),
    said: textIn(result === undefined ? content : result['content']),
    isResult: result !== undefined,
  }
}

const usageOf = ({ prompt, output }: Counted) => ({
  input_tokens: prompt,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: output,
})

const blockOf = (reply: Reply, id: string): JsonObject =>
  'content' in reply
    ? { type: 'text', text: reply.content }
    : { type: 'tool_use', id: `toolu_${id}`, name: reply.call.name, input: parseJson(reply.call.arguments) }

const emptied = (block: JsonObject): JsonObject =>
  block['type'] === 'text' ? { ...block, text: '' } : { ...block, input: {} }

const deltasOf = (reply: Reply): readonly JsonObject[] =>
  'content' in reply
    ? piecesOf(reply.content).map((text) => ({ type: 'text_delta', text }))
    : piecesOf(reply.call.arguments).map((partial_json) => ({ type: 'input_json_delta', partial_json }))

const stopOf = (reply: Reply): string => ('content' in reply ? 'end_turn' : 'tool_use')

export const messages: Format = {
  path: /^\/v1\/messages$/,
  check: ({ body, headers }) => checkMessages({ body, headers, url: '/v1/messages' }),
  isStream: isStreamed,
  readAsked,
  whole: ({ body: { model } }, reply, counted, id) => ({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [blockOf(reply, id)],
    stop_reason: stopOf(reply),
    stop_sequence: null,
    usage: usageOf(counted),
  }),
  events: (received, reply, counted, id) => {
    const begin = messages.whole(received, reply, { ...counted, output: 1 }, id)
    return [
      { type: 'message_start', message: { ...begin, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: emptied(blockOf(reply, id)) },
      ...deltasOf(reply).map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: stopOf(reply), stop_sequence: null }, usage: usageOf(counted) },
      { type: 'message_stop' },
    ]
  },
}
