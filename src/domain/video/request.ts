export const videoKinds = ['text2video', 'image2video', 'omni-video'] as const
export type VideoKind = (typeof videoKinds)[number]
export type VideoMode = 'std' | 'pro' | '4k'

/** A request for a video in the vendor's own flat format, values normalised; what the caller left out is absent. */
export interface VideoBody {
  readonly prompt?: string
  readonly negative_prompt?: string
  /** URL, or base64 without a `data:` prefix. */
  readonly image?: string
  readonly image_tail?: string
  readonly image_list?: readonly { readonly image_url: string; readonly type?: 'first_frame' | 'end_frame' }[]
  readonly video_list?: readonly {
    readonly video_url: string
    readonly refer_type?: 'base' | 'feature'
    readonly keep_original_sound?: 'yes' | 'no'
  }[]
  readonly element_list?: readonly { readonly element_id: string | number }[]
  readonly voice_list?: readonly { readonly voice_id: string }[]
  readonly sound?: 'on' | 'off'
  readonly cfg_scale?: number
  readonly mode?: VideoMode
  readonly aspect_ratio?: '16:9' | '9:16' | '1:1'
  /** Whole seconds. */
  readonly duration?: string
  readonly camera_control?: { readonly [key: string]: unknown }
  readonly static_mask?: string
  readonly dynamic_masks?: readonly { readonly [key: string]: unknown }[]
  readonly watermark_info?: { readonly enabled: boolean }
  readonly multi_shot?: boolean
  readonly shot_type?: 'customize' | 'intelligence'
  readonly multi_prompt?: readonly { readonly index: number; readonly prompt: string; readonly duration: string }[]
}

export interface VideoRequest {
  readonly kind: VideoKind
  readonly model: string
  readonly body: VideoBody
  readonly callbackUrl: string | null
  readonly externalTaskId: string | null
}

/** Complete for the worker that submits it. Prompts are stored here and never in the log. */
export interface TaskPayload {
  readonly taskId: string
  readonly workspaceId: string
  readonly kind: VideoKind
  readonly provider: string
  readonly upstreamModel: string
  readonly body: VideoBody
  readonly callbackUrl: string | null
}
