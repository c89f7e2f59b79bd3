import type { VideoBody, VideoRequest } from '../../../../domain/video/request.ts'
import { isObject, type JsonObject } from '../../../../encoding/json.ts'
import { GatewayError, truncateName } from '../../../../errors/gateway-error.ts'
import { readValid } from '../../../../http/validate.ts'
import type { NativeVideoRequest } from './native-request.types.ts'

/** Maps a native member's path to the caller's: `sound` is `metadata.sound` on the generic surface. */
export type PathOf = (path: string) => string

const plainNames = [
  'prompt',
  'negative_prompt',
  'image',
  'image_tail',
  'sound',
  'cfg_scale',
  'mode',
  'aspect_ratio',
  'duration',
  'camera_control',
  'static_mask',
  'dynamic_masks',
  'multi_shot',
  'shot_type',
] as const

export const videoMemberNames = [
  ...plainNames,
  'image_list',
  'video_list',
  'element_list',
  'voice_list',
  'watermark_info',
  'multi_prompt',
  'callback_url',
  'external_task_id',
] as const

/** Counts as absent: clients of typed languages send what they leave out as empty. */
export const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

const withoutEmpty = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutEmpty)
  if (!isObject(value)) return value
  const present = Object.entries(value).filter(([, member]) => !isEmpty(member))
  return Object.fromEntries(present.map(([name, member]) => [name, withoutEmpty(member)]))
}

const secondsText = (seconds: unknown): unknown => (typeof seconds === 'number' ? String(seconds) : seconds)

const spelledShot = (shot: unknown): unknown =>
  isObject(shot) && shot['duration'] !== undefined ? { ...shot, duration: secondsText(shot['duration']) } : shot

/** Normalises members that may be written in more than one way. */
const spellings: Readonly<Record<string, (value: unknown) => unknown>> = {
  mode: (mode) => (typeof mode === 'string' ? mode.toLowerCase() : mode),
  duration: secondsText,
  multi_prompt: (shots) => (Array.isArray(shots) ? shots.map(spelledShot) : shots),
}

const spelled = (fields: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(withoutEmpty(fields) as JsonObject).map(([name, value]) => [
      name,
      Object.hasOwn(spellings, name) ? spellings[name]!(value) : value,
    ]),
  )

const pick = <From extends object, Name extends keyof From>(
  from: From,
  names: readonly Name[],
): { readonly [N in Name]?: NonNullable<From[N]> } =>
  Object.fromEntries(names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]])) as {
    readonly [N in Name]?: NonNullable<From[N]>
  }

/** Other members of the list items are dropped with the rest. */
const listsOf = ({
  image_list,
  video_list,
  element_list,
  voice_list,
  multi_prompt,
}: NativeVideoRequest): VideoBody => ({
  ...(image_list && {
    image_list: image_list.map(({ image_url, ...item }) => ({ image_url, ...pick(item, ['type']) })),
  }),
  ...(video_list && {
    video_list: video_list.map(({ video_url, ...item }) => ({
      video_url,
      ...pick(item, ['refer_type', 'keep_original_sound']),
    })),
  }),
  ...(element_list && { element_list: element_list.map(({ element_id }) => ({ element_id })) }),
  ...(voice_list && { voice_list: voice_list.map(({ voice_id }) => ({ voice_id })) }),
  ...(multi_prompt && {
    multi_prompt: multi_prompt.map(({ index, prompt, duration }) => ({ index, prompt, duration })),
  }),
})

const bodyOf = (request: NativeVideoRequest): VideoBody => ({
  ...pick(request, plainNames),
  ...listsOf(request),
  ...(request.watermark_info && { watermark_info: { enabled: request.watermark_info.enabled } }),
})

/** The path of a number that JSON's parser may have rounded; null where there is none. */
const inexactIn = (value: unknown): string | null => {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value) ? '' : null
  if (typeof value !== 'object' || value === null) return null
  for (const [name, member] of Object.entries(value)) {
    const found = inexactIn(member)
    if (found !== null) return `${Array.isArray(value) ? `[${name}]` : `.${truncateName(name)}`}${found}`
  }
  return null
}

/** The vendor's ids have more digits than a number keeps: another element would be requested, and paid. */
const refuseInexact = (body: VideoBody, pathOf: PathOf): void => {
  const found = inexactIn(body)
  if (found === null) return
  const param = pathOf(found.slice(1))
  throw new GatewayError(
    'invalid_value',
    `Invalid value for '${param}': an integer beyond 2^53 loses digits as a number; send it as a string.`,
    { param },
  )
}

/** Throws with the path of what is wrong as the caller wrote it. Does not check what the model can do. */
export const readVideo = (fields: JsonObject, pathOf: PathOf): Omit<VideoRequest, 'kind'> => {
  const request = readValid<NativeVideoRequest>('requests/native-video-request.v1.json', spelled(fields), pathOf)
  const body = bodyOf(request)
  refuseInexact(body, pathOf)
  return {
    model: request.model_name,
    body,
    callbackUrl: request.callback_url ?? null,
    externalTaskId: request.external_task_id ?? null,
  }
}
