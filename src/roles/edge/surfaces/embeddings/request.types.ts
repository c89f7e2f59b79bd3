// Generated from schemas/ by `make generate`. Do not edit.

export type TokenId = number
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
 * POST /v1/embeddings. Members that are not listed are passed on as they are.
 */
export interface EmbeddingsRequest {
  /**
   * <provider>/<model>, an alias, or gateway/<router>.
   */
  readonly model: string
  /**
   * One text, or several; or token ids, of one input or of several, for models of OpenAI's dialect: at most 300,000 in all.
   */
  readonly input: string | string[] | TokenId[] | TokenId[][]
  /**
   * Numbers (the default), or the base64 of 32-bit floats, little-endian.
   */
  readonly encoding_format?: 'float' | 'base64' | null
  /**
   * Length of each vector, where the model has several.
   */
  readonly dimensions?: number | null
  /**
   * The caller's own name of its end user.
   */
  readonly user?: string | null
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
