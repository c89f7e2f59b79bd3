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
 * POST /v1beta/models/<model>:generateContent and :streamGenerateContent. Members may be written in snake case as well. Those that name files, caches or stores of a provider's account are refused, and those that are not known here.
 */
export interface GeminiRequest {
  /**
   * That of the path counts.
   */
  readonly model?: string
  /**
   * The conversation so far, oldest first.
   *
   * @minItems 1
   */
  readonly contents: GeminiContent[]
  readonly systemInstruction?: GeminiContent1
  /**
   * Functions and built-in tools that the model may call.
   */
  readonly tools?: GeminiTool[]
  /**
   * Whether it must call a function, and which it may.
   */
  readonly toolConfig?: {
    readonly functionCallingConfig?: {
      readonly mode?: string
      readonly allowedFunctionNames?: string[]
      readonly [k: string]: unknown
    }
    readonly [k: string]: unknown
  }
  /**
   * The provider's thresholds by kind of harm.
   */
  readonly safetySettings?: {
    readonly [k: string]: unknown
  }[]
  readonly generationConfig?: GeminiGenerationConfig
  /**
   * A tier that the price of the model has, such as flex or priority.
   */
  readonly serviceTier?: string
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
export interface GeminiContent {
  readonly role?: 'user' | 'model' | 'function'
  readonly parts?: GeminiPart[]
  readonly [k: string]: unknown
}
export interface GeminiPart {
  readonly text?: string
  readonly thought?: boolean
  readonly thoughtSignature?: string
  readonly inlineData?: GeminiBlob
  readonly functionCall?: {
    readonly id?: string
    readonly name: string
    readonly args?: {
      readonly [k: string]: unknown
    }
    readonly [k: string]: unknown
  }
  readonly functionResponse?: {
    readonly id?: string
    readonly name: string
    readonly response: {
      readonly [k: string]: unknown
    }
    readonly parts?: {
      readonly inlineData?: GeminiBlob
      readonly [k: string]: unknown
    }[]
    readonly [k: string]: unknown
  }
  readonly [k: string]: unknown
}
export interface GeminiBlob {
  readonly mimeType: string
  readonly data: string
  readonly displayName?: string
  readonly [k: string]: unknown
}
/**
 * What the model is to follow, before the contents.
 */
export interface GeminiContent1 {
  readonly role?: 'user' | 'model' | 'function'
  readonly parts?: GeminiPart[]
  readonly [k: string]: unknown
}
export interface GeminiTool {
  readonly functionDeclarations?: {
    readonly name: string
    readonly description?: string
    readonly parameters?: {
      readonly [k: string]: unknown
    }
    readonly parametersJsonSchema?: {
      readonly [k: string]: unknown
    }
    readonly [k: string]: unknown
  }[]
  readonly googleSearch?: {
    readonly [k: string]: unknown
  }
  readonly codeExecution?: {
    readonly [k: string]: unknown
  }
  readonly urlContext?: {
    readonly [k: string]: unknown
  }
  readonly [k: string]: unknown
}
/**
 * Length, sampling and format of the answer.
 */
export interface GeminiGenerationConfig {
  /**
   * 1: more than one answer is not available.
   */
  readonly candidateCount?: number
  readonly maxOutputTokens?: number
  readonly stopSequences?: string[]
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly seed?: number
  readonly responseMimeType?: string
  readonly responseSchema?: {
    readonly [k: string]: unknown
  }
  readonly responseJsonSchema?: unknown
  readonly responseModalities?: string[]
  readonly thinkingConfig?: {
    readonly includeThoughts?: boolean
    readonly thinkingBudget?: number
    readonly thinkingLevel?: string
    readonly [k: string]: unknown
  }
  readonly [k: string]: unknown
}
