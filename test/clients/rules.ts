/** What OpenAI refuses of a chat request: by its own description, and by the rules that the description does not state. Read 2026-11. */
import { asArray, asObject, asText, type JsonObject } from '../../src/encoding/json.ts'
import { problemsOfKnownChatRequest } from '../reference/contract.ts'

const userCharactersMax = 64
const outputTokensMax: readonly (readonly [RegExp, number])[] = [
  [/^gpt-4o/, 16_384],
  [/^gpt-4\.1/, 32_768],
  [/^gpt-/, 128_000],
]

const problemOfUser = ({ user }: JsonObject): string | null =>
  asText(user).length > userCharactersMax ? `Invalid 'user': string too long. At most ${userCharactersMax}.` : null

const problemOfLimit = ({ model, max_completion_tokens }: JsonObject): string | null => {
  const most = outputTokensMax.find(([pattern]) => pattern.test(asText(model)))?.[1] ?? Number.POSITIVE_INFINITY
  return Number(max_completion_tokens ?? 0) > most
    ? `max_tokens is too large. At most ${most} completion tokens.`
    : null
}

const problemOfEffort = ({ model, tools, reasoning_effort: effort }: JsonObject): string | null => {
  if (/^gpt-4/.test(asText(model)) && effort !== undefined)
    return 'Unrecognized request argument supplied: reasoning_effort'
  const reasons = /^gpt-5\.[56]/.test(asText(model)) ? effort !== 'none' : (effort ?? 'none') !== 'none'
  return /^gpt-(?:5\.[4-9]|6)/.test(asText(model)) && asArray(tools).length > 0 && reasons
    ? 'Function tools with reasoning_effort are not supported in /v1/chat/completions.'
    : null
}

const idsOf = (message: JsonObject): readonly string[] =>
  asArray(message['tool_calls']).map((call) => asText(asObject(call)['id']))

/** Each call is answered by a message of its own, at once. */
const problemOfCalls = ({ messages }: JsonObject): string | null => {
  let open: readonly string[] = []
  for (const [index, message] of asArray(messages).map(asObject).entries()) {
    const id = asText(message['tool_call_id'])
    const isResult = message['role'] === 'tool'
    if (isResult && !open.includes(id)) return `messages[${index}] answers no call of the message before it`
    if (!isResult && open.length > 0) return `messages[${index}] stands where results of ${open.join()} must be`
    open = isResult ? open.filter((each) => each !== id) : idsOf(message)
  }
  return open.length > 0 ? `calls without results: ${open.join()}` : null
}

/** Null where OpenAI takes the request. */
export const problemOf = (body: JsonObject): string | null =>
  problemsOfKnownChatRequest(body)[0] ??
  problemOfUser(body) ??
  problemOfLimit(body) ??
  problemOfEffort(body) ??
  problemOfCalls(body)
