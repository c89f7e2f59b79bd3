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
 * POST /v1beta/models/<model>:generateContent and :streamGenerateContent. Members may be written in snake case as well. Those that name files, caches or stores of a provider's account are refused, and those that are not known here.
 */
export interface GeminiRequest {
  /**
   * That of the path counts.
   */
  readonly model?: string
  /**
   * @minItems 1
   */
  readonly contents: GeminiContent[]
  readonly systemInstruction?: GeminiContent
  readonly tools?: GeminiTool[]
  readonly toolConfig?: {
    readonly functionCallingConfig?: {
      readonly mode?: string
      readonly allowedFunctionNames?: string[]
      readonly [k: string]: unknown
    }
    readonly [k: string]: unknown
  }
  readonly safetySettings?: {
    readonly [k: string]: unknown
  }[]
  readonly generationConfig?: GeminiGenerationConfig
  readonly serviceTier?: string
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
