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
 * POST /v1/responses. Members that are not listed are passed on as they are.
 */
export interface ResponsesRequest {
  /**
   * <provider>/<model>, an alias, or gateway/<router>.
   */
  readonly model: string
  readonly input: string | InputItem[]
  readonly instructions?: string | null
  readonly stream?: boolean | null
  readonly stream_options?: {
    readonly include_obfuscation?: boolean | null
    readonly [k: string]: unknown
  } | null
  readonly tools?: ResponsesTool[] | null
  tool_choice?:
    | string
    | {
        readonly [k: string]: unknown
      }
    | null
  readonly parallel_tool_calls?: boolean | null
  readonly max_tool_calls?: number | null
  readonly max_output_tokens?: number | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly top_logprobs?: number | null
  readonly reasoning?: {
    /**
     * Any word: vendors add to low, medium and high.
     */
    readonly effort?: string | null
    readonly summary?: string | null
    readonly [k: string]: unknown
  } | null
  readonly text?: {
    readonly format?: {
      readonly type?: string
      readonly [k: string]: unknown
    } | null
    readonly verbosity?: string | null
    readonly [k: string]: unknown
  } | null
  readonly include?: string[] | null
  readonly truncation?: string | null
  readonly background?: boolean | null
  readonly store?: boolean | null
  readonly previous_response_id?: string | null
  readonly service_tier?: string | null
  readonly metadata?: {
    readonly [k: string]: unknown
  } | null
  readonly user?: string | null
  readonly prompt_cache_key?: string | null
  readonly safety_identifier?: string | null
  readonly extra_body?: {
    readonly models?: FallbackModels
    readonly route?: Route
    readonly [k: string]: unknown
  }
  readonly models?: FallbackModels
  readonly route?: Route
  readonly [k: string]: unknown
}
export interface InputItem {
  readonly type?: string | null
  readonly role?: string
  readonly content?: string | InputPart[] | null
  readonly [k: string]: unknown
}
export interface InputPart {
  readonly type: string
  readonly [k: string]: unknown
}
export interface ResponsesTool {
  readonly type: string
  readonly [k: string]: unknown
}
