import type { Usage } from '../../domain/usage/usage.ts'
import type { MediaPart } from '../dialect/media.ts'

/** Why an answer ended. `filtered`: by the provider's policy, a refusal of the model included. */
export type StopReason = 'end' | 'stop_sequence' | 'length' | 'tool_calls' | 'filtered'

export interface Citation {
  readonly url: string
  readonly title: string | null
  readonly citedText: string | null
  /** The cited range of the text part, in UTF-16 units; null where the provider does not report it. */
  readonly range: { readonly start: number; readonly end: number } | null
}

/** OpenAI's formats have refusals of the model apart from its text. */
interface Refusable {
  readonly refusal?: true
}

export const refusalMark = ({ refusal }: Refusable): Refusable => (refusal === undefined ? {} : { refusal })

export type ReplyPart =
  | ({ readonly type: 'text'; readonly text: string; readonly citations: readonly Citation[] } & Refusable)
  | { readonly type: 'thinking'; readonly text: string; readonly signature: string | null }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | {
      readonly type: 'tool_call'
      readonly id: string
      readonly name: string
      readonly arguments: string
      readonly signature: string | null
    }

export interface Reply {
  readonly id: string
  readonly parts: readonly ReplyPart[]
  readonly stop: StopReason
  readonly stopSequence: string | null
  readonly usage: Usage | null
  /** Part of what is billed, which no other format has a place for. */
  readonly media?: readonly MediaPart[]
  /** Calls of the upstream's built-in tools, counted in the answer itself: part of a reported usage. */
  readonly toolCalls?: Usage['toolCalls']
}

/**
 * A streamed answer. Parts come one after another: an event of another kind, or `tool_call`, begins the next one.
 * `usage` has all that is known so far, and the last one counts: it is final where no more content follows it, which
 * that of `start` never is. `stop` comes once; nothing but `usage` and `built_in_calls` follows it.
 */
export type ReplyEvent =
  | { readonly type: 'start'; readonly id: string; readonly usage: Usage | null }
  | ({ readonly type: 'text'; readonly text: string } & Refusable)
  | { readonly type: 'citation'; readonly citation: Citation }
  | { readonly type: 'thinking'; readonly text: string }
  /** Ends the thinking part that it signs. */
  | { readonly type: 'signature'; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly signature: string | null }
  /** A piece of the JSON text of the tool call that began last. */
  | { readonly type: 'arguments'; readonly text: string }
  | { readonly type: 'stop'; readonly reason: StopReason; readonly stopSequence: string | null }
  | { readonly type: 'usage'; readonly usage: Usage }
  | ({ readonly type: 'media' } & MediaPart)
  /** All calls of the upstream's built-in tools that were seen so far: part of a reported usage. */
  | { readonly type: 'built_in_calls'; readonly toolCalls: Usage['toolCalls'] }

/** As OpenAI's formats end an answer: a refusal of its model is one like any other. */
export const openaiStop = (stop: StopReason, isRefusal: boolean): StopReason =>
  isRefusal && stop === 'filtered' ? 'end' : stop

export const isRefusalPart = (part: ReplyPart): boolean => part.type === 'text' && part.refusal === true

type Text = Extract<ReplyPart, { type: 'text' }>

/** A whole answer knows which text each citation came with. */
const citationEvents = ({ text, citations }: Text, start: number): readonly ReplyEvent[] =>
  citations.map((citation): { readonly type: 'citation'; readonly citation: Citation } => {
    const range = citation.range ?? { start: 0, end: text.length }
    return {
      type: 'citation',
      citation: { ...citation, range: { start: start + range.start, end: start + range.end } },
    }
  })

/** `start`: where the text of the part begins in the text that it continues. */
const eventsOfPart = (part: ReplyPart, start: number): readonly ReplyEvent[] => {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text, ...refusalMark(part) }, ...citationEvents(part, start)]
    case 'thinking':
      return [
        { type: 'thinking', text: part.text },
        ...(part.signature === null ? [] : [{ type: 'signature', signature: part.signature } as const]),
      ]
    case 'redacted_thinking':
      return [part]
    case 'tool_call':
      return [part, { type: 'arguments', text: part.arguments }]
  }
}

/** As the events of its stream, but for their cuts. */
export const eventsOfParts = (parts: readonly ReplyPart[]): readonly ReplyEvent[] => {
  let start = 0
  let before: ReplyPart | null = null
  return parts.flatMap((part) => {
    if (before?.type !== 'text' || isRefusalPart(before) !== isRefusalPart(part)) start = 0
    const events = eventsOfPart(part, start)
    if (part.type === 'text') start += part.text.length
    before = part
    return events
  })
}
