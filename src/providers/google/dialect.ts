import { asArray, type JsonObject } from '../../encoding/json.ts'
import type { ChoosingFormat, UpstreamFormat } from '../canonical/format.ts'
import type { Citation, Reply, ReplyEvent, ReplyPart } from '../canonical/reply.ts'
import type { AnswerFault, Target } from '../dialect/dialect.ts'
import { readGeminiConversation, readGeminiDemands } from './read-request.ts'
import { GenerateContentReader } from './reader.ts'
import { readGoogleError } from './refusal.ts'
import { generateContentRequest } from './request.ts'
import { searchObstacle } from './tools.ts'
import { GeminiReplyWriter, writeGeminiReply } from './write-reply.ts'

type Draft =
  | { readonly type: 'text'; text: string; readonly citations: Citation[] }
  | { readonly type: 'thinking'; text: string; readonly signature: null }
  | (Omit<Extract<ReplyPart, { type: 'tool_call' }>, 'arguments'> & { arguments: string })

const addText = (drafts: Draft[], text: string): void => {
  const last = drafts.at(-1)
  if (last?.type === 'text') last.text += text
  else drafts.push({ type: 'text', text, citations: [] })
}

const addThinking = (drafts: Draft[], text: string): void => {
  const last = drafts.at(-1)
  if (last?.type === 'thinking') last.text += text
  else drafts.push({ type: 'thinking', text, signature: null })
}

const addEvent = (drafts: Draft[], event: ReplyEvent): void => {
  const last = drafts.at(-1)
  if (event.type === 'text') addText(drafts, event.text)
  if (event.type === 'thinking') addThinking(drafts, event.text)
  if (event.type === 'tool_call') drafts.push({ ...event, arguments: '' })
  if (event.type === 'arguments' && last?.type === 'tool_call') last.arguments += event.text
  if (event.type === 'citation' && last?.type === 'text') last.citations.push(event.citation)
}

const partsOf = (events: readonly ReplyEvent[]): readonly ReplyPart[] => {
  const drafts: Draft[] = []
  for (const event of events) addEvent(drafts, event)
  return drafts
}

/** An answer that was blocked before its first text has no parts. */
export const readGenerateContentReply = (target: Target, json: JsonObject): Reply | AnswerFault => {
  if (json['error']) return { fault: 'error_in_answer' }
  const reader = new GenerateContentReader(target)
  const events = reader.take(json)
  if ('fault' in events) return events
  const start = events.find((event) => event.type === 'start')
  const stop = events.find((event) => event.type === 'stop')
  const media = events.filter((event) => event.type === 'media')
  if (stop === undefined)
    return { fault: asArray(json['candidates']).length > 0 ? 'no_finish_reason' : 'no_candidates' }
  return {
    id: start?.id ?? '',
    parts: partsOf(events),
    stop: stop.reason,
    stopSequence: null,
    usage: reader.usage,
    ...(media.length === 0 ? {} : { media }),
    toolCalls: reader.toolCalls,
  }
}

/** Google's own dialect, `generateContent`: no other reports searches. */
export const googleUpstream: UpstreamFormat = {
  writeRequest: generateContentRequest,
  readReply: readGenerateContentReply,
  openReader: (target) => new GenerateContentReader(target),
  offersSearch: (conversation, target) => searchObstacle(conversation, target) === null,
  readRefusal: readGoogleError,
}

export const geminiClient: ChoosingFormat = {
  readRequest: readGeminiConversation,
  readDemands: readGeminiDemands,
  writeReply: writeGeminiReply,
  openWriter: (served, body) => new GeminiReplyWriter(served, body),
}
