// Generated from schemas/ by `make generate`. Do not edit.

/**
 * Whole seconds.
 */
export type Seconds = string

/**
 * POST /vv/v1/videos/{text2video|image2video|omni-video}, every value in one spelling. Members that are not listed are dropped.
 */
export interface NativeVideoRequest {
  /**
   * <provider>/<model>, or an alias: our name, not the vendor's.
   */
  readonly model_name: string
  readonly prompt?: string
  readonly negative_prompt?: string
  /**
   * The first frame: a URL, or base64 without a `data:` prefix.
   */
  readonly image?: string
  /**
   * The last frame.
   */
  readonly image_tail?: string
  /**
   * @maxItems 64
   */
  readonly image_list?: ImageItem[]
  /**
   * @maxItems 64
   */
  readonly video_list?: VideoItem[]
  /**
   * @maxItems 64
   */
  readonly element_list?: ElementItem[]
  /**
   * @maxItems 64
   */
  readonly voice_list?: VoiceItem[]
  readonly sound?: 'on' | 'off'
  readonly cfg_scale?: number
  readonly mode?: 'std' | 'pro' | '4k'
  readonly aspect_ratio?: '16:9' | '9:16' | '1:1'
  readonly duration?: Seconds
  readonly camera_control?: {
    readonly [k: string]: unknown
  }
  readonly static_mask?: string
  /**
   * @maxItems 64
   */
  readonly dynamic_masks?: {
    readonly [k: string]: unknown
  }[]
  readonly watermark_info?: {
    readonly enabled: boolean
    readonly [k: string]: unknown
  }
  readonly multi_shot?: boolean
  readonly shot_type?: 'customize' | 'intelligence'
  /**
   * @maxItems 64
   */
  readonly multi_prompt?: Shot[]
  readonly callback_url?: string
  /**
   * The caller's own id, which names one task of the workspace.
   */
  readonly external_task_id?: string
  readonly [k: string]: unknown
}
export interface ImageItem {
  readonly image_url: string
  readonly type?: 'first_frame' | 'end_frame'
  readonly [k: string]: unknown
}
export interface VideoItem {
  readonly video_url: string
  readonly refer_type?: 'base' | 'feature'
  readonly keep_original_sound?: 'yes' | 'no'
  readonly [k: string]: unknown
}
export interface ElementItem {
  readonly element_id: string | number
  readonly [k: string]: unknown
}
export interface VoiceItem {
  readonly voice_id: string
  readonly [k: string]: unknown
}
export interface Shot {
  readonly index: number
  readonly prompt: string
  readonly duration: Seconds
  readonly [k: string]: unknown
}
