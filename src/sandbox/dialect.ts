import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../json.ts'
import type { Directives } from './directives.ts'
import type { Fault } from './faults.ts'
import type { Tokens } from './tokens.ts'

/** The usage that a part of an answer tells: as it stands on the wire, and normalised. */
export interface Told {
  readonly usage: JsonObject
  readonly tokens: Tokens
}

/** One SSE event of a stream, or a whole JSON body. */
export interface Part {
  readonly text: string
  readonly told: Told | null
}

export interface Answer {
  readonly status: number
  readonly contentType: string
  /** True where the parts are SSE events. */
  readonly stream: boolean
  readonly parts: Iterable<Part>
}

/** What an answer is made from. */
export interface Asked {
  readonly body: JsonObject
  /** Without directives. */
  readonly model: string
  readonly directives: Directives
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** How a family of upstreams speaks. */
export interface Dialect {
  /** The caller's key; throws Refusal where there is none. */
  readonly keyOf: (headers: IncomingHttpHeaders) => string
  /** Throws Refusal where a member is missing without which nothing can be answered. */
  readonly check: (body: JsonObject) => void
  readonly answer: (asked: Asked) => Answer
  readonly errorBody: (fault: Fault) => string
  /** The SSE event that tells a fault inside a stream. */
  readonly errorEvent: (fault: Fault) => string
}

export const jsonType = 'application/json'
export const streamType = 'text/event-stream; charset=utf-8'

export const wholeAnswer = (text: string, told: Told | null, status = 200, contentType = jsonType): Answer => ({
  status,
  contentType,
  stream: false,
  parts: [{ text, told }],
})

export const streamAnswer = (parts: Iterable<Part>): Answer => ({
  status: 200,
  contentType: streamType,
  stream: true,
  parts,
})
