import type { IncomingHttpHeaders } from 'node:http'
import { asText, type JsonObject } from '../../src/encoding/json.ts'
import type { Directives } from '../answers/directives.ts'
import { type Fault, Refusal, type Secrets } from '../answers/faults.ts'
import type { Tokens } from '../answers/tokens.ts'

/** The reported usage of a part of an answer: in wire format, and normalised. */
export interface ReportedUsage {
  readonly usage: JsonObject
  readonly tokens: Tokens
}

export interface Part {
  readonly text: string
  readonly reported: ReportedUsage | null
}

export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly stream: boolean
  readonly parts: Iterable<Part>
}

export interface Incoming {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: JsonObject
}

export interface Asked {
  readonly body: JsonObject
  readonly stream: boolean
  readonly model: string
  readonly directives: Directives
  readonly secrets: Secrets
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface Dialect {
  /** Throws Refusal where there is no key. */
  readonly keyOf: (headers: IncomingHttpHeaders, url: string) => string
  /** Directives included; throws Refusal where there is none. */
  readonly modelOf: (incoming: Incoming) => string
  readonly streams: (incoming: Incoming) => boolean
  /** Throws Refusal for what the real service would refuse. */
  readonly check: (incoming: Incoming, directives: Directives) => void
  readonly answer: (asked: Asked) => Answer
  /** True where a cancelled answer is generated, and billed, to its end. */
  readonly billsOn: (directives: Directives) => boolean
  readonly headersOf: (id: string) => Readonly<Record<string, string>>
  readonly errorBody: (fault: Fault, id: string) => string
  /** The SSE event that reports a fault inside a stream, after `passed` others. */
  readonly errorEvent: (fault: Fault, asked: Asked, passed: number) => string
}

export const htmlPage =
  '<!DOCTYPE html>\n<html><head><title>Sandbox</title></head><body><h1>It works</h1></body></html>\n'
export const jsonType = 'application/json'
const streamType = 'text/event-stream; charset=utf-8'

export const wholeAnswer = (
  text: string,
  reported: ReportedUsage | null,
  status = 200,
  contentType = jsonType,
): Answer => ({
  status,
  contentType,
  stream: false,
  parts: [{ text, reported }],
})

export const streamAnswer = (parts: Iterable<Part>): Answer => ({
  status: 200,
  contentType: streamType,
  stream: true,
  parts,
})

/** The name is the event's `type`. */
export const namedEvent = (event: JsonObject): string =>
  `event: ${asText(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`

export const doneEvent: Part = { text: 'data: [DONE]\n\n', reported: null }

export const streamsByBody = ({ body }: Incoming): boolean => body['stream'] === true

export const modelInBody = ({ body }: Incoming): string => {
  const model = asText(body['model'])
  if (model === '') throw new Refusal('you must provide a model parameter', { param: 'model' })
  return model
}
