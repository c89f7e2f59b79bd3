// Generated from schemas/ by `make generate`. Do not edit.

/**
 * POST /v1/video/generations and POST /v1/videos. Members of native-video-request.v1.json may be in metadata, or, where that has them not, beside it.
 */
export interface VideoGenerationRequest {
  /**
   * <provider>/<model>, or an alias.
   */
  readonly model: string
  /**
   * An object, or one as JSON text.
   */
  metadata?:
    | {
        readonly [k: string]: unknown
      }
    | string
    | null
  /**
   * The first frame. More of them are a reference: `metadata.image_list`.
   *
   * @maxItems 1
   */
  readonly images?: string[] | null
  /**
   * The first frame.
   */
  input_reference?:
    | string
    | {
        /**
         * A URL, a data URL, or base64.
         */
        readonly image_url?: string | null
        readonly [k: string]: unknown
      }
    | null
  /**
   * The duration.
   */
  readonly seconds?: string | number | null
  /**
   * `1280x720`: only its shape counts.
   */
  readonly size?: string | null
  readonly [k: string]: unknown
}
