// Generated from schemas/ by `make generate`. Do not edit.

/**
 * Models in the order in which they are tried; they replace model. The official Python SDK sends extra_body's members at the top level.
 *
 * @minItems 1
 * @maxItems 5
 */
export type FallbackModels = string[]
export type Route = 'fallback'

/**
 * POST /v1/messages. Members that are not listed are passed on as they are.
 */
export interface MessagesRequest {
  /**
   * <provider>/<model>, an alias, or gateway/<router>.
   */
  readonly model: string
  readonly max_tokens: number
  /**
   * @minItems 1
   */
  readonly messages: Message[]
  readonly stream?: boolean | null
  readonly tools?: MessagesTool[] | null
  mcp_servers?:
    | {
        readonly [k: string]: unknown
      }[]
    | null
  readonly extra_body?: {
    readonly models?: FallbackModels
    readonly route?: Route
    readonly [k: string]: unknown
  }
  readonly models?: FallbackModels
  readonly route?: Route
  readonly [k: string]: unknown
}
export interface Message {
  readonly role: string
  readonly content: string | ContentBlock[]
  readonly [k: string]: unknown
}
export interface ContentBlock {
  readonly type: string
  readonly [k: string]: unknown
}
export interface MessagesTool {
  readonly type?: string | null
  readonly [k: string]: unknown
}
