import { asArray, asObject, asText, type JsonObject } from '../../../src/encoding/json.ts'
import { problemOf } from '../rules.ts'
import { type Asked, type Call, type Counted, piecesOf, type Reply } from '../script.ts'
import { type Format, isStreamed, textIn } from './format.ts'

const createdSeconds = 1_790_000_000

const readAsked = ({ messages, tools }: JsonObject): Asked => {
  const turns = asArray(messages).map(asObject)
  const last = turns.findLast(({ role }) => role === 'user' || role === 'tool') ?? {}
  return {
    tools: asArray(tools).map((tool) => asText(asObject(asObject(tool)['function'])['name'])),
    said: textIn(last['content']),
    isResult: last['role'] === 'tool',
  }
}

const usageOf = ({ prompt, output }: Counted) => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  total_tokens: prompt + output,
})

const toolCallOf = ({ name, arguments: given }: Call, id: string) => ({
  id,
  type: 'function',
  function: { name, arguments: given },
})

const messageOf = (reply: Reply, callId: string): JsonObject =>
  'content' in reply
    ? { role: 'assistant', content: reply.content, refusal: null }
    : { role: 'assistant', content: null, refusal: null, tool_calls: [toolCallOf(reply.call, callId)] }

const deltasOf = (reply: Reply, callId: string): readonly JsonObject[] => {
  if ('content' in reply)
    return [{ role: 'assistant', content: '' }, ...piecesOf(reply.content).map((content) => ({ content }))]
  const begin = { index: 0, ...toolCallOf({ ...reply.call, arguments: '' }, callId) }
  return [
    { role: 'assistant', content: null, tool_calls: [begin] },
    ...piecesOf(reply.call.arguments).map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
  ]
}

const finishOf = (reply: Reply): string => ('content' in reply ? 'stop' : 'tool_calls')

export const chat: Format = {
  path: /^\/v1\/chat\/completions$/,
  check: ({ body }) => {
    const problem = problemOf(body)
    if (problem !== null) throw new Error(problem)
  },
  isStream: isStreamed,
  readAsked,
  whole: ({ body: { model } }, reply, counted, id) => ({
    id,
    object: 'chat.completion',
    created: createdSeconds,
    model,
    choices: [{ index: 0, message: messageOf(reply, `call_${id}`), logprobs: null, finish_reason: finishOf(reply) }],
    usage: usageOf(counted),
  }),
  events: ({ body: { model } }, reply, counted, id) => {
    const head = { id, object: 'chat.completion.chunk', created: createdSeconds, model }
    const chunk = (delta: JsonObject, finish_reason: string | null): JsonObject => ({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      usage: null,
    })
    return [
      ...deltasOf(reply, `call_${id}`).map((delta) => chunk(delta, null)),
      chunk({}, finishOf(reply)),
      { ...head, choices: [], usage: usageOf(counted) },
    ]
  },
  end: 'data: [DONE]\n\n',
}
