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
  /**
   * What the video shows.
   */
  readonly prompt?: string
  /**
   * What it is not to show.
   */
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
   * Images that it is made from; the first or the last frame where type has so.
   *
   * @maxItems 64
   */
  readonly image_list?: ImageItem[]
  /**
   * Videos that it is made from, or that it follows.
   *
   * @maxItems 64
   */
  readonly video_list?: VideoItem[]
  /**
   * Elements that are stored with the vendor.
   *
   * @maxItems 64
   */
  readonly element_list?: ElementItem[]
  /**
   * Voices that are stored with the vendor.
   *
   * @maxItems 64
   */
  readonly voice_list?: VoiceItem[]
  /**
   * on: with sound.
   */
  readonly sound?: 'on' | 'off'
  /**
   * How closely it follows the prompt.
   */
  readonly cfg_scale?: number
  /**
   * The quality, which decides the price.
   */
  readonly mode?: 'std' | 'pro' | '4k'
  /**
   * Width to height.
   */
  readonly aspect_ratio?: '16:9' | '9:16' | '1:1'
  readonly duration?: Seconds
  /**
   * Movement of the camera, as the vendor has it.
   */
  readonly camera_control?: {
    readonly [k: string]: unknown
  }
  /**
   * Image of what does not move.
   */
  readonly static_mask?: string
  /**
   * Images of what moves, each with its path.
   *
   * @maxItems 64
   */
  readonly dynamic_masks?: {
    readonly [k: string]: unknown
  }[]
  /**
   * enabled: with the mark of the vendor.
   */
  readonly watermark_info?: {
    readonly enabled: boolean
    readonly [k: string]: unknown
  }
  /**
   * True: several shots in one video.
   */
  readonly multi_shot?: boolean
  /**
   * Who divides it into shots: customize, by multi_prompt; intelligence, the model.
   */
  readonly shot_type?: 'customize' | 'intelligence'
  /**
   * The shots: index, prompt and seconds of each.
   *
   * @maxItems 64
   */
  readonly multi_prompt?: Shot[]
  /**
   * Where the outcome is sent once the task has ended.
   */
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
