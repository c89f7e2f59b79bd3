import { checkResponses } from '../../../sandbox/responses/check.ts'
import { StoredResponses } from '../../../sandbox/responses/stored.ts'
import { asArray, asObject, asText, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import { type Asked, type Counted, piecesOf, type Reply } from '../script.ts'
import { type Format, isStreamed, textIn } from './format.ts'

const check = checkResponses(new StoredResponses())

/** Those of a namespace have its name before them; a custom tool takes a text. */
const namesOf = (tool: JsonObject, prefix = ''): readonly string[] =>
  tool['type'] === 'namespace'
    ? asArray(tool['tools']).flatMap((each) => namesOf(asObject(each), `${asText(tool['name'])}__`))
    : [prefix + asText(tool['name'])]

const readAsked = ({ input, tools }: JsonObject): Asked => {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : asArray(input).map(asObject)
  const last: JsonObject = items.findLast((item) => item['role'] === 'user' || 'output' in item) ?? {}
  const isResult = 'output' in last
  return {
    tools: asArray(tools).flatMap((tool) => namesOf(asObject(tool))),
    said: textIn(isResult ? last['output'] : last['content']),
    isResult,
  }
}

const usageOf = ({ prompt, output }: Counted) => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: prompt + output,
})

const textPart = (text: string): JsonObject => ({ type: 'output_text', text, annotations: [], logprobs: [] })

const callItem = (name: string, given: string, id: string): JsonObject => {
  const [namespace, inner] = name.split('__')
  const called = inner === undefined ? { name } : { namespace, name: inner }
  return name === 'functions__exec'
    ? {
        type: 'custom_tool_call',
        id: `ctc_${id}`,
        call_id: `call_${id}`,
        ...called,
        input: asObject(parseJson(given))['input'],
      }
    : { type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, ...called, arguments: given }
}

const itemOf = (reply: Reply, id: string): JsonObject => ({
  ...('content' in reply
    ? { type: 'message', id: `msg_${id}`, role: 'assistant', content: [textPart(reply.content)] }
    : callItem(reply.call.name, reply.call.arguments, id)),
  status: 'completed',
})

const pieceEvents = (item: JsonObject): readonly JsonObject[] => {
  const place = { item_id: item['id'], output_index: 0 }
  const text = asText(asObject(asArray(item['content'])[0])['text'])
  const part = { ...place, content_index: 0 }
  if (item['type'] === 'message')
    return [
      { type: 'response.content_part.added', ...part, part: textPart('') },
      ...piecesOf(text).map((delta) => ({ type: 'response.output_text.delta', ...part, delta, logprobs: [] })),
      { type: 'response.output_text.done', ...part, text, logprobs: [] },
      { type: 'response.content_part.done', ...part, part: textPart(text) },
    ]
  const [kind, member] =
    item['type'] === 'function_call' ? ['function_call_arguments', 'arguments'] : ['custom_tool_call_input', 'input']
  const given = asText(item[member])
  return [
    ...piecesOf(given).map((delta) => ({ type: `response.${kind}.delta`, ...place, delta })),
    { type: `response.${kind}.done`, ...place, [member]: given },
  ]
}

const opened = (item: JsonObject): JsonObject => {
  const { content, arguments: given, input, ...rest } = item
  return {
    ...rest,
    ...(content === undefined ? {} : { content: [] }),
    ...(given === undefined ? {} : { arguments: '' }),
    ...(input === undefined ? {} : { input: '' }),
    status: 'in_progress',
  }
}

export const responses: Format = {
  path: /^\/v1\/responses$/,
  check: ({ body, headers }) => check({ body, headers, url: '/v1/responses' }, {}),
  isStream: isStreamed,
  readAsked,
  whole: ({ body: { model } }, reply, counted, id) => ({
    id: `resp_${id}`,
    object: 'response',
    created_at: 1_790_000_000,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model,
    output: [itemOf(reply, id)],
    usage: usageOf(counted),
  }),
  events: (received, reply, counted, id) => {
    const response = responses.whole(received, reply, counted, id)
    const item = itemOf(reply, id)
    const begun = { ...response, status: 'in_progress', output: [], usage: null }
    const events: readonly JsonObject[] = [
      { type: 'response.created', response: begun },
      { type: 'response.in_progress', response: begun },
      { type: 'response.output_item.added', output_index: 0, item: opened(item) },
      ...pieceEvents(item),
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ]
    return events.map((event, sequence_number) => ({ ...event, sequence_number }))
  },
}
