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
 * POST /v1/responses. Members that are not listed are passed on as they are.
 */
export interface ResponsesRequest {
  /**
   * <provider>/<model>, an alias, or gateway/<router>.
   */
  readonly model: string
  /**
   * A text, or the items of the conversation so far.
   */
  readonly input: string | InputItem[]
  /**
   * What the model is to follow, before the input.
   */
  readonly instructions?: string | null
  /**
   * True: the answer as server-sent events, as it is made.
   */
  readonly stream?: boolean | null
  /**
   * include_obfuscation: padding that hides the length of the events.
   */
  readonly stream_options?: {
    readonly include_obfuscation?: boolean | null
    readonly [k: string]: unknown
  } | null
  /**
   * Functions and built-in tools that the model may call.
   */
  readonly tools?: ResponsesTool[] | null
  /**
   * auto, none, required, or the tool that is to be called.
   */
  tool_choice?:
    | string
    | {
        readonly [k: string]: unknown
      }
    | null
  /**
   * False: one tool call at a time.
   */
  readonly parallel_tool_calls?: boolean | null
  /**
   * The most calls of built-in tools in an answer.
   */
  readonly max_tool_calls?: number | null
  /**
   * The most tokens of the answer, with its reasoning; it bounds what is reserved for the request.
   */
  readonly max_output_tokens?: number | null
  /**
   * Randomness of the answer; 0 is the least.
   */
  readonly temperature?: number | null
  /**
   * Only the most likely tokens, up to this sum of probabilities.
   */
  readonly top_p?: number | null
  /**
   * As many of the most likely tokens at each place.
   */
  readonly top_logprobs?: number | null
  /**
   * How much the model reasons, and whether it summarises that.
   */
  readonly reasoning?: {
    /**
     * Any word: vendors add to low, medium and high.
     */
    readonly effort?: string | null
    readonly summary?: string | null
    readonly [k: string]: unknown
  } | null
  /**
   * Format and length of the text of the answer.
   */
  readonly text?: {
    readonly format?: {
      readonly type?: string
      readonly [k: string]: unknown
    } | null
    readonly verbosity?: string | null
    readonly [k: string]: unknown
  } | null
  /**
   * More that the answer is to have, such as reasoning.encrypted_content.
   */
  readonly include?: string[] | null
  /**
   * auto: the oldest items are dropped where the input is too long.
   */
  readonly truncation?: string | null
  /**
   * True is refused: an answer is given in the request that asked for it.
   */
  readonly background?: boolean | null
  /**
   * False: the provider does not keep the answer.
   */
  readonly store?: boolean | null
  /**
   * A stored answer of the same workspace, which this one continues.
   */
  readonly previous_response_id?: string | null
  /**
   * A tier that the price of the model has, such as flex or priority.
   */
  readonly service_tier?: string | null
  /**
   * The caller's own pairs, passed on.
   */
  readonly metadata?: {
    readonly [k: string]: unknown
  } | null
  /**
   * The caller's own name of its end user.
   */
  readonly user?: string | null
  /**
   * Prompts with the same key are looked up in the same cache of the provider.
   */
  readonly prompt_cache_key?: string | null
  /**
   * The caller's own name of its end user; it counts before user.
   */
  readonly safety_identifier?: string | null
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
