import type { JsonObject } from '../encoding/json.ts'
import type { ErrorCode } from '../errors/gateway-error.ts'
import type { Permission } from './admin-roles.ts'
import type { Parameter } from './query.ts'

export interface ResponseDescription {
  /** `$ref`s name files below `schemas/`; null where the body is empty, or only a stream. */
  readonly schema: JsonObject | null
  /** Also as server-sent events, where the request asks for a stream or nothing else is answered. */
  readonly streams?: boolean
  /** As an HTML document instead. */
  readonly isHtml?: true
}

export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As the router has it: `:id` is one segment, `*id` all remaining ones. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  /** `optional`: a key may be absent, and may restrict what is shown. */
  readonly security: 'key' | 'admin' | 'optional'
  /** Of an administrator's token, where one is required. */
  readonly permission?: Permission
  readonly memberPermissions?: Readonly<Record<string, Permission>>
  /** The `$id` of the body's schema; null where no body is read. */
  readonly request: string | null
  /** A valid body for this route, where the schema's own example is none. */
  readonly example?: JsonObject
  /** Prose: input beyond the body's schema. */
  readonly takesMore?: string
  readonly takesForm?: boolean
  readonly query?: Readonly<Record<string, Pick<Parameter<unknown>, 'form' | 'schema'>>>
  readonly headers?: readonly RequestHeader[]
  /** Whether an answer has the position of the log that it reflects in `X-Gateway-Ledger-Sequence`. */
  readonly showsPosition?: boolean
  readonly answers: Readonly<Record<number, ResponseDescription>>
  readonly refusals: readonly ErrorCode[]
  /** Whether a provider's own 4xx may be passed on. */
  readonly passesRefusalsOn?: boolean
}

export type RequestHeader = 'Idempotency-Key' | 'anthropic-version' | 'anthropic-beta' | 'X-Gateway-Ledger-Sequence'
