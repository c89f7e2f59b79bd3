// Generated from schemas/ by `make generate`. Do not edit.

/**
 * Models in the order in which they are tried; they replace model. The official Python SDK sends extra_body's members at the top level.
 *
 * @minItems 1
 * @maxItems 5
 */
export type FallbackModels = string[]
/**
 * fallback: the models are tried in turn, as without it.
 */
export type Route = 'fallback'

/**
 * POST /v1/messages. Members that are not listed are passed on as they are.
 */
export interface MessagesRequest {
  /**
   * <provider>/<model>, an alias, or gateway/<router>.
   */
  readonly model: string
  /**
   * The most tokens of the answer; it bounds what is reserved for the request.
   */
  readonly max_tokens: number
  /**
   * The conversation so far, oldest first.
   *
   * @minItems 1
   */
  readonly messages: Message[]
  /**
   * True: the answer as server-sent events, as it is made.
   */
  readonly stream?: boolean | null
  /**
   * Tools that the model may call.
   */
  readonly tools?: MessagesTool[] | null
  /**
   * MCP servers that the provider connects to; models of another API refuse them.
   */
  mcp_servers?:
    | {
        readonly [k: string]: unknown
      }[]
    | null
  /**
   * Members that an SDK sends apart: models, route.
   */
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
