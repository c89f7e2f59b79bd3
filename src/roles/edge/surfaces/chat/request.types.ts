// Generated from schemas/ by `make generate`. Do not edit.

export type ChatMessage = {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function'
  /**
   * @minItems 1
   */
  readonly content?: string | ContentPart[] | null
  readonly name?: string | null
  readonly tool_calls?: ToolCall[] | null
  readonly tool_call_id?: string | null
  readonly function_call?: {
    readonly name?: string
    readonly arguments?: string
    readonly [k: string]: unknown
  } | null
  readonly refusal?: string | null
  readonly reasoning_content?: string | null
  readonly audio?: {
    readonly [k: string]: unknown
  } | null
  readonly [k: string]: unknown
}
export type ContentPart = {
  readonly type: 'text' | 'image_url' | 'input_audio' | 'file' | 'refusal'
  readonly text?: string
  readonly refusal?: string
  readonly image_url?: {
    readonly url: string
    readonly detail?: 'auto' | 'low' | 'high'
    readonly [k: string]: unknown
  }
  readonly input_audio?: {
    readonly data: string
    readonly format: 'wav' | 'mp3'
    readonly [k: string]: unknown
  }
  readonly file?: {
    readonly file_data?: string
    readonly file_id?: string
    readonly filename?: string
    readonly [k: string]: unknown
  }
  readonly [k: string]: unknown
}
export type Tool = {
  readonly type: 'function' | 'custom'
  readonly function?: FunctionDefinition
  readonly custom?: {
    readonly name: string
    readonly [k: string]: unknown
  }
  readonly [k: string]: unknown
}
/**
 * auto, none, required, or the function that is to be called.
 */
export type ToolChoice = ToolChoice1
export type ToolChoice1 =
  | string
  | {
      readonly type?: 'function' | 'allowed_tools' | 'custom'
      readonly function?: {
        readonly name: string
        readonly [k: string]: unknown
      }
      readonly [k: string]: unknown
    }
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
 * POST /v1/chat/completions. Members that are not listed are passed on as they are.
 */
export interface ChatCompletionRequest {
  /**
   * <provider>/<model>, an alias, or gateway/<router>.
   */
  readonly model: string
  /**
   * The conversation so far, oldest first.
   *
   * @minItems 1
   */
  readonly messages: ChatMessage[]
  /**
   * True: the answer as server-sent events, as it is made.
   */
  readonly stream?: boolean | null
  /**
   * include_usage: a last event with the usage.
   */
  readonly stream_options?: {
    readonly include_usage?: boolean | null
    readonly include_obfuscation?: boolean | null
    readonly [k: string]: unknown
  } | null
  /**
   * Functions and tools that the model may call.
   */
  readonly tools?: Tool[]
  readonly tool_choice?: ToolChoice
  /**
   * False: at most one tool call an answer.
   */
  readonly parallel_tool_calls?: boolean | null
  /**
   * Deprecated form of tools.
   */
  readonly functions?: FunctionDefinition[]
  /**
   * Deprecated form of tool_choice.
   */
  function_call?:
    | string
    | {
        readonly name?: string
        readonly [k: string]: unknown
      }
  readonly response_format?: ResponseFormat
  /**
   * Randomness of the answer; 0 is the least.
   */
  readonly temperature?: number | null
  /**
   * Only the most likely tokens, up to this sum of probabilities.
   */
  readonly top_p?: number | null
  /**
   * Older name of max_completion_tokens.
   */
  readonly max_tokens?: number | null
  /**
   * The most tokens of the answer, with its reasoning; it bounds what is reserved for the request.
   */
  readonly max_completion_tokens?: number | null
  /**
   * How many answers; each is charged.
   */
  readonly n?: number | null
  /**
   * Texts before which the answer ends.
   *
   * @maxItems 4
   */
  readonly stop?: string | string[] | null
  /**
   * For answers that repeat, where the model can.
   */
  readonly seed?: number | null
  /**
   * Above 0: tokens that occurred become less likely.
   */
  readonly presence_penalty?: number | null
  /**
   * Above 0: tokens become less likely by how often they occurred.
   */
  readonly frequency_penalty?: number | null
  /**
   * Added to the likelihood of tokens, by their ids.
   */
  readonly logit_bias?: {
    readonly [k: string]: unknown
  } | null
  /**
   * True: the log probability of each token of the answer.
   */
  readonly logprobs?: boolean | null
  /**
   * As many of the most likely tokens at each place, with logprobs.
   */
  readonly top_logprobs?: number | null
  /**
   * Any word: vendors add to low, medium and high.
   */
  readonly reasoning_effort?: string | null
  /**
   * How long the answer is to be: low, medium, high.
   */
  readonly verbosity?: string | null
  /**
   * Asks for a web search, which is charged by the call.
   */
  readonly web_search_options?: {
    readonly search_context_size?: 'low' | 'medium' | 'high'
    readonly user_location?: {
      readonly [k: string]: unknown
    } | null
    readonly [k: string]: unknown
  }
  /**
   * What the answer is made of: text, audio.
   */
  readonly modalities?: string[] | null
  /**
   * Voice and format of an audio answer.
   */
  readonly audio?: {
    voice?:
      | string
      | {
          readonly [k: string]: unknown
        }
    readonly format?: string
    readonly [k: string]: unknown
  } | null
  /**
   * Text that the answer is expected to repeat.
   */
  readonly prediction?: {
    readonly [k: string]: unknown
  } | null
  /**
   * A tier that the price of the model has, such as flex or priority.
   */
  readonly service_tier?: string | null
  /**
   * True: the provider keeps the answer.
   */
  readonly store?: boolean | null
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
export interface ToolCall {
  readonly id: string
  readonly type: 'function' | 'custom'
  readonly function?: {
    readonly name: string
    /**
     * JSON text.
     */
    readonly arguments: string
    readonly [k: string]: unknown
  }
  readonly [k: string]: unknown
}
export interface FunctionDefinition {
  readonly name: string
  readonly description?: string | null
  readonly parameters?: {
    readonly [k: string]: unknown
  } | null
  readonly strict?: boolean | null
  readonly [k: string]: unknown
}
/**
 * Text, JSON, or JSON of a schema.
 */
export interface ResponseFormat {
  readonly type: 'text' | 'json_object' | 'json_schema'
  readonly json_schema?: {
    readonly name: string
    readonly description?: string | null
    readonly schema?: {
      readonly [k: string]: unknown
    }
    readonly strict?: boolean | null
    readonly [k: string]: unknown
  }
  readonly [k: string]: unknown
}
