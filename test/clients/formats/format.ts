import type { IncomingHttpHeaders } from 'node:http'
import { asArray, asObject, asText, type JsonObject } from '../../../src/encoding/json.ts'
import type { Asked, Counted, Reply } from '../script.ts'

export interface Received {
  readonly body: JsonObject
  /** With its query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** `id`: of the answer. */
export type Write<T> = (received: Received, reply: Reply, counted: Counted, id: string) => T

/** One format of upstreams. */
export interface Format {
  readonly path: RegExp
  /** Throws what the provider would refuse. */
  check(received: Received): void
  isStream(received: Received): boolean
  readAsked(body: JsonObject): Asked
  readonly whole: Write<JsonObject>
  readonly events: Write<readonly JsonObject[]>
  /** What follows the last event. */
  readonly end?: string
}

export const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : asArray(content)
        .map((part) => asText(asObject(part)['text']))
        .join('\n')

export const isStreamed = ({ body }: Received): boolean => body['stream'] === true
