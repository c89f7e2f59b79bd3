import { videoModelOf } from './models.ts'
import type { VideoBody, VideoKind, VideoMode, VideoRequest } from './request.ts'

const defaultModes: { readonly [K in VideoKind]: VideoMode } = {
  text2video: 'std',
  image2video: 'std',
  'omni-video': 'pro',
}

/** Seconds. */
const defaultDuration = '5'

export const readVideoMode = ({ kind, body }: VideoRequest): VideoMode => body.mode ?? defaultModes[kind]

export const readVideoSeconds = (duration: string): number | null =>
  /^[1-9][0-9]{0,3}$/.test(duration) ? Number(duration) : null

/** The seconds asked for; null where they are not a whole number. Not for an edit: that is as long as its input. */
export const readVideoDuration = ({ duration = defaultDuration }: VideoBody): number | null =>
  readVideoSeconds(duration)

/** A reference video is for an edit by default. */
export const isEdit = ({ video_list = [] }: VideoBody): boolean =>
  video_list.some(({ refer_type = 'base' }) => refer_type === 'base')

export const isCustomShots = ({ multi_shot, shot_type = 'customize' }: VideoBody): boolean =>
  multi_shot === true && shot_type === 'customize'

const takesItsShapeFromAnImage = ({ kind, body }: VideoRequest): boolean =>
  kind === 'image2video' || (body.image_list ?? []).some(({ type }) => type === 'first_frame')

const shapeOf = (request: VideoRequest): Pick<VideoBody, 'aspect_ratio'> =>
  isEdit(request.body) || takesItsShapeFromAnImage(request) ? {} : { aspect_ratio: '16:9' }

const applyDefaults = (request: VideoRequest, sound: Pick<VideoBody, 'sound'>): VideoBody => {
  const { body } = request
  return {
    ...shapeOf(request),
    ...sound,
    ...(isEdit(body) ? {} : { duration: defaultDuration }),
    ...(body.multi_shot === true ? { shot_type: 'customize' } : {}),
    ...body,
    mode: readVideoMode(request),
  }
}

/** The body by which two requests are compared; needs neither a known model nor a checked request. */
export const comparableBody = (request: VideoRequest): VideoBody => applyDefaults(request, { sound: 'off' })

/** For a model without a soundtrack the vendor may reject the member. */
const soundOf = (modelName: string): Pick<VideoBody, 'sound'> =>
  (videoModelOf(modelName)?.audioModes ?? []).length === 0 ? {} : { sound: 'off' }

/** An edit is as long as its input: the vendor might refuse another length. */
const withoutIgnored = ({ duration, ...body }: VideoBody): VideoBody =>
  duration === undefined || isEdit(body) ? body : { ...body, duration }

/** So that the vendor makes what the hold was sized for, whatever its own defaults are. */
export const withDefaults = (request: VideoRequest, modelName: string): VideoRequest => ({
  ...request,
  body: withoutIgnored(applyDefaults(request, soundOf(modelName))),
})
