import type { Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'
import type { Served } from '../canonical/format.ts'
import {
  type Citation,
  isRefusalPart,
  openaiStop,
  type Reply,
  type ReplyPart,
  type StopReason,
} from '../canonical/reply.ts'
import { usesFunctions } from './read-conversation-tools.ts'
import { writeSignature } from './signature.ts'
import { chatUsageOnWire } from './usage.ts'

type CallPart = Extract<ReplyPart, { type: 'tool_call' }>
type TextPart = Extract<ReplyPart, { type: 'text' }>

export const answerId = ({ requestId }: Served): string => `chatcmpl-${requestId}`

const finishReasons: { readonly [S in StopReason]: string } = {
  end: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  filtered: 'content_filter',
}

/** `withFunctions`: the client uses the deprecated form of tools. */
export const chatFinishReason = (stop: StopReason, withFunctions: boolean): string =>
  stop === 'tool_calls' && withFunctions ? 'function_call' : finishReasons[stop]

interface Span {
  readonly start: number
  readonly end: number
}

/** A citation without a range covers the whole text that it came with. */
export const annotationOf = ({ url, title, range }: Citation, span: Span): JsonObject => ({
  type: 'url_citation',
  url_citation: {
    start_index: span.start + (range?.start ?? 0),
    end_index: range === null ? span.end : span.start + range.end,
    url,
    title: title ?? url,
  },
})

const isText = (part: ReplyPart): part is TextPart => part.type === 'text'
const isCall = (part: ReplyPart): part is CallPart => part.type === 'tool_call'

const annotationsOf = (texts: readonly TextPart[]): readonly JsonObject[] => {
  let start = 0
  return texts.flatMap(({ text, citations }) => {
    const span = { start, end: start + text.length }
    start = span.end
    return citations.map((citation) => annotationOf(citation, span))
  })
}

const toolCallOf = ({ id, name, arguments: given, signature }: CallPart): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: given },
  ...writeSignature(signature),
})

/** A caller of deprecated functions reads the first call alone. */
const callsOf = (calls: readonly CallPart[], body: JsonObject): JsonObject => {
  const [first] = calls
  if (first === undefined) return {}
  return usesFunctions(body)
    ? { function_call: { name: first.name, arguments: first.arguments } }
    : { tool_calls: calls.map(toolCallOf) }
}

const messageOf = ({ parts }: Reply, body: JsonObject): JsonObject => {
  const texts = parts.filter(isText).filter((part) => part.refusal === undefined)
  const refusal = parts.map((part) => (isText(part) && part.refusal === true ? part.text : '')).join('')
  const calls = parts.filter(isCall)
  const thoughts = parts.map((part) => (part.type === 'thinking' ? part.text : '')).join('')
  const annotations = annotationsOf(texts)
  return {
    role: 'assistant',
    content: texts.length === 0 && (calls.length > 0 || refusal !== '') ? null : texts.map(({ text }) => text).join(''),
    refusal: refusal === '' ? null : refusal,
    ...(thoughts === '' ? {} : { reasoning_content: thoughts }),
    ...(annotations.length === 0 ? {} : { annotations }),
    ...callsOf(calls, body),
  }
}

export const writeChatReply = (
  reply: Reply & { readonly usage: Usage },
  served: Served,
  body: JsonObject,
): JsonObject => ({
  id: answerId(served),
  object: 'chat.completion',
  created: served.createdSeconds,
  model: served.model,
  choices: [
    {
      index: 0,
      message: messageOf(reply, body),
      logprobs: null,
      finish_reason: chatFinishReason(openaiStop(reply.stop, reply.parts.some(isRefusalPart)), usesFunctions(body)),
    },
  ],
  usage: chatUsageOnWire(reply.usage),
  system_fingerprint: null,
})
