import type { JsonObject } from '../../../encoding/json.ts'
import type { ErrorCode } from '../../../errors/gateway-error.ts'
import type { Parameter } from '../surfaces/ledger/query.ts'

/** What an answer holds. */
export interface ResponseDescription {
  /** Whose `$ref`s name files below `schemas/`; null where nothing is in the body, or nothing but a stream. */
  readonly schema: JsonObject | null
  /** Also as server-sent events, where the request asks for a stream or nothing else is answered. */
  readonly streams?: boolean
}

/** One route as the document tells it. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As the router has it: `:id` is one segment, `*id` all that are left. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  /** Who may ask: the holder of a key, an administrator, or anybody, whom a key may show less. */
  readonly security: 'key' | 'admin' | 'anybody'
  /** The `$id` of the body's schema; null where none is read. */
  readonly request: string | null
  /** A body that is right here, where the schema's own example is not. */
  readonly example?: JsonObject
  /** What is taken beyond the body's schema, in words. */
  readonly takesMore?: string
  /** Whether the body may be a form as well. */
  readonly takesForm?: boolean
  readonly query?: Readonly<Record<string, Pick<Parameter<unknown>, 'form' | 'schema'>>>
  readonly headers?: readonly RequestHeader[]
  /** By status. */
  readonly answers: Readonly<Record<number, ResponseDescription>>
  readonly refusals: readonly ErrorCode[]
  /** Whether a provider's own 4xx may be passed on. */
  readonly passesRefusalsOn?: boolean
}

export type RequestHeader = 'Idempotency-Key' | 'anthropic-version' | 'anthropic-beta'
