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
   * @minItems 1
   */
  readonly messages: ChatMessage[]
  readonly stream?: boolean | null
  readonly stream_options?: {
    readonly include_usage?: boolean | null
    readonly include_obfuscation?: boolean | null
    readonly [k: string]: unknown
  } | null
  readonly tools?: Tool[]
  readonly tool_choice?: ToolChoice
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
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly n?: number | null
  /**
   * @maxItems 4
   */
  readonly stop?: string | string[] | null
  readonly seed?: number | null
  readonly presence_penalty?: number | null
  readonly frequency_penalty?: number | null
  readonly logit_bias?: {
    readonly [k: string]: unknown
  } | null
  readonly logprobs?: boolean | null
  readonly top_logprobs?: number | null
  /**
   * Any word: vendors add to low, medium and high.
   */
  readonly reasoning_effort?: string | null
  readonly verbosity?: string | null
  readonly web_search_options?: {
    readonly search_context_size?: 'low' | 'medium' | 'high'
    readonly user_location?: {
      readonly [k: string]: unknown
    } | null
    readonly [k: string]: unknown
  }
  readonly modalities?: string[] | null
  readonly audio?: {
    voice?:
      | string
      | {
          readonly [k: string]: unknown
        }
    readonly format?: string
    readonly [k: string]: unknown
  } | null
  readonly prediction?: {
    readonly [k: string]: unknown
  } | null
  readonly service_tier?: string | null
  readonly store?: boolean | null
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
