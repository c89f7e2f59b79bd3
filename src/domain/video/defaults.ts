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

/** The whole seconds of a duration; null for what is no such number. */
export const readVideoSeconds = (duration: string): number | null =>
  /^[1-9][0-9]{0,3}$/.test(duration) ? Number(duration) : null

/** The seconds asked for; null for what is no whole number of them. Of an edit it says nothing: that is as long as its input. */
export const readVideoDuration = ({ duration = defaultDuration }: VideoBody): number | null =>
  readVideoSeconds(duration)

/** An edit of a video, which is what a reference video is for unless it says otherwise. */
export const isEdit = ({ video_list = [] }: VideoBody): boolean =>
  video_list.some(({ refer_type = 'base' }) => refer_type === 'base')

export const isCustomShots = ({ multi_shot, shot_type = 'customize' }: VideoBody): boolean =>
  multi_shot === true && shot_type === 'customize'

const takesItsShapeFromAnImage = ({ kind, body }: VideoRequest): boolean =>
  kind === 'image2video' || (body.image_list ?? []).some(({ type }) => type === 'first_frame')

const shapeOf = (request: VideoRequest): Pick<VideoBody, 'aspect_ratio'> =>
  isEdit(request.body) || takesItsShapeFromAnImage(request) ? {} : { aspect_ratio: '16:9' }

/** A body with what it left open said. */
const saying = (request: VideoRequest, sound: Pick<VideoBody, 'sound'>): VideoBody => {
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

/** The body by which two requests are compared: what one left open the other may say. It needs no model to be known, and no request to be checked. */
export const comparableBody = (request: VideoRequest): VideoBody => saying(request, { sound: 'off' })

/** Of a model without a soundtrack the vendor may not know the word. */
const soundOf = (modelName: string): Pick<VideoBody, 'sound'> =>
  (videoModelOf(modelName)?.audioModes ?? []).length === 0 ? {} : { sound: 'off' }

/** A checked request with what it left open said, so that the vendor makes what the hold was sized for, whatever its own defaults are. */
export const withDefaults = (request: VideoRequest, modelName: string): VideoRequest => ({
  ...request,
  body: saying(request, soundOf(modelName)),
})
