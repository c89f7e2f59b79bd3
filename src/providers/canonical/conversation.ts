import { isObject, type JsonObject } from '../../encoding/json.ts'

/** A request of any surface, between a client's format and an upstream's. What a format cannot express is absent. */
export interface Conversation {
  readonly system: readonly TextPart[]
  readonly turns: readonly ConversationTurn[]
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice: ToolChoice | null
  /** False: one tool call an answer at most. Null where the caller does not set it. */
  readonly parallelToolCalls: boolean | null
  /** Output tokens; null where the caller sets no limit. */
  readonly outputTokensMax: number | null
  readonly temperature: number | null
  readonly topP: number | null
  readonly topK: number | null
  readonly stopSequences: readonly string[]
  readonly format: AnswerFormat
  readonly reasoning: Reasoning | null
  readonly webSearch: WebSearch | null
  /** Built-in tools that the caller offers, and that no other format has. */
  readonly droppedTools?: readonly string[]
  /** As the caller asks for it; null for the standard one. */
  readonly serviceTier: string | null
  /** The caller's identifier of its own end user. */
  readonly user: string | null
  /** Of a chat: what this form does not have and the provider of the format does, another API of it included. */
  readonly openaiMembers?: JsonObject
}

/** Consecutive turns may be of one role. A turn of the role `system` has texts alone, which apply from there on. */
export interface ConversationTurn {
  readonly role: 'user' | 'assistant' | 'system'
  readonly parts: readonly ConversationPart[]
}

/** `cached` asks the upstream to cache the prompt up to here, where it can. */
export type CacheMark = '5m' | '1h' | null

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly cached: CacheMark
}

export interface ImagePart {
  readonly type: 'image'
  readonly source: { readonly mediaType: string; readonly base64: string } | { readonly url: string }
  readonly detail: 'auto' | 'low' | 'high' | null
  readonly cached: CacheMark
}

export interface DocumentPart {
  readonly type: 'document'
  readonly source:
    | { readonly mediaType: string; readonly base64: string }
    | { readonly url: string }
    | { readonly text: string }
  readonly title: string | null
  readonly cached: CacheMark
}

export interface AudioPart {
  readonly type: 'audio'
  readonly format: 'wav' | 'mp3'
  readonly base64: string
}

export interface ToolCallPart {
  readonly type: 'tool_call'
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** What a Gemini model needs back with the call; null elsewhere. */
  readonly signature: string | null
  readonly cached: CacheMark
}

export interface ToolResultPart {
  readonly type: 'tool_result'
  readonly toolCallId: string
  readonly parts: readonly (TextPart | ImagePart | DocumentPart)[]
  readonly isError: boolean
  readonly cached: CacheMark
}

interface ThinkingPart {
  readonly type: 'thinking'
  readonly text: string
  /** Proves to the model's vendor that it wrote this; null where unknown: then the part is sent to no upstream. */
  readonly signature: string | null
}

interface RedactedThinkingPart {
  readonly type: 'redacted_thinking'
  readonly data: string
}

export type ConversationPart =
  | TextPart
  | ImagePart
  | DocumentPart
  | AudioPart
  | ToolCallPart
  | ToolResultPart
  | ThinkingPart
  | RedactedThinkingPart

export interface ToolDefinition {
  readonly name: string
  readonly description: string | null
  /** JSON Schema of the arguments; null: no arguments. */
  readonly parameters: JsonObject | null
  readonly strict: boolean | null
  readonly cached: CacheMark
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string }

export type AnswerFormat =
  | { readonly type: 'text' | 'json' }
  | {
      readonly type: 'schema'
      readonly name: string
      readonly description: string | null
      readonly schema: JsonObject
      readonly strict: boolean | null
    }

/** `effort` is a value of the chat surface, `budget` tokens; `adaptive` leaves the amount to the model. */
export type Reasoning =
  | { readonly type: 'effort'; readonly effort: string }
  | { readonly type: 'budget'; readonly tokens: number }
  | { readonly type: 'adaptive'; readonly effort: string | null }
  | { readonly type: 'off' }

/** Thinking tokens of `low` and `medium` in the published mapping; beyond them it is `high`. */
const lowEffortTokens = 1_280
const mediumEffortTokens = 2_048

export const effortOfBudget = (tokens: number): string => {
  if (tokens <= lowEffortTokens) return 'low'
  return tokens <= mediumEffortTokens ? 'medium' : 'high'
}

export interface WebSearch {
  /** Offered like other tools: without it where the model has none. Default: a model without it refuses. */
  readonly isOptional?: boolean
  /** The answer must begin with a search. */
  readonly isForced?: boolean
  readonly contextSize: 'low' | 'medium' | 'high' | null
  /** Null: the provider's own bound. */
  readonly usesMax: number | null
  readonly allowedDomains: readonly string[]
  readonly blockedDomains: readonly string[]
  readonly userLocation: {
    readonly city?: string
    readonly region?: string
    readonly country?: string
    readonly timezone?: string
  } | null
}

const locationMembers = ['city', 'region', 'country', 'timezone'] as const

/** Of a web search; null where the value is no object. Each format has these members. */
export const readUserLocation = (value: unknown): WebSearch['userLocation'] =>
  isObject(value)
    ? Object.fromEntries(
        locationMembers.filter((name) => typeof value[name] === 'string').map((name) => [name, value[name]]),
      )
    : null
