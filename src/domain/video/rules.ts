import { truncateName } from '../../errors/gateway-error.ts'
import { type CheckedVideoRequest, type Dimensions, isLongerThan, videoRefusal } from './checked-request.ts'
import { isEdit, readVideoDuration, readVideoMode } from './defaults.ts'
import { checkCallbackUrl, checkImages, checkVideos } from './media-rules.ts'
import { videoModelOf } from './models.ts'
import { checkPlaceholders, checkPrompts, checkShots } from './prompt-rules.ts'
import type { VideoBody, VideoRequest } from './request.ts'

const referencesMax = 7
const referencesWithVideoMax = 4
const imagesWithEndFrameMax = 2
const voicesMax = 2
const externalIdCharactersMax = 256

const sources = ['image_list', 'video_list', 'element_list'] as const
const frames = ['image', 'image_tail'] as const
const singleSourceFields = ['negative_prompt', 'cfg_scale', 'camera_control'] as const

const words: { readonly [F in keyof VideoBody]?: readonly unknown[] } = {
  sound: ['on', 'off'],
  aspect_ratio: ['16:9', '9:16', '1:1'],
  shot_type: ['customize', 'intelligence'],
}

const isGiven = ({ body }: CheckedVideoRequest, field: keyof VideoBody): boolean => {
  const value = body[field]
  return Array.isArray(value) ? value.length > 0 : value !== undefined
}

const checkWord = (value: unknown, path: string, allowed: readonly unknown[]): void => {
  if (value !== undefined && !allowed.includes(value))
    throw videoRefusal('invalid_value', path, `Invalid value for '${path}': must be one of ${allowed.join(', ')}.`)
}

const checkWords = ({ body, pathOf }: CheckedVideoRequest): void => {
  for (const [field, allowed] of Object.entries(words))
    checkWord(body[field as keyof VideoBody], pathOf(field), allowed)
  for (const [index, { type }] of (body.image_list ?? []).entries())
    checkWord(type, `${pathOf('image_list')}[${index}].type`, ['first_frame', 'end_frame'])
  for (const [index, { refer_type, keep_original_sound }] of (body.video_list ?? []).entries()) {
    checkWord(refer_type, `${pathOf('video_list')}[${index}].refer_type`, ['base', 'feature'])
    checkWord(keep_original_sound, `${pathOf('video_list')}[${index}].keep_original_sound`, ['yes', 'no'])
  }
}

const checkKind = (asked: CheckedVideoRequest): void => {
  const { request, model, modelName, pathOf } = asked
  const isOmni = request.kind === 'omni-video'
  const source = sources.find((field) => isGiven(asked, field))
  if (source !== undefined && !(isOmni && model.kinds.includes('omni-video')))
    throw videoRefusal('unsupported_parameter', pathOf(source), `'${pathOf(source)}' is for videos of several sources.`)
  if (!model.kinds.includes(request.kind))
    throw videoRefusal('unsupported_value', pathOf('model'), `\`${modelName}\` makes no videos of several sources.`)
  const frame = frames.find((field) => isGiven(asked, field))
  if (frame !== undefined && request.kind !== 'image2video')
    throw videoRefusal(
      'unsupported_parameter',
      pathOf(frame),
      `'${pathOf(frame)}' is for videos made from an image alone.`,
    )
  if (frame === undefined && request.kind === 'image2video')
    throw videoRefusal(
      'missing_required_parameter',
      pathOf('image'),
      `Missing required parameter: '${pathOf('image')}'.`,
    )
}

const checkSingleSourceFields = (asked: CheckedVideoRequest): void => {
  const field =
    asked.request.kind === 'omni-video' ? singleSourceFields.find((each) => isGiven(asked, each)) : undefined
  if (field !== undefined)
    throw videoRefusal(
      'unsupported_parameter',
      asked.pathOf(field),
      `'${asked.pathOf(field)}' is not for videos of several sources.`,
    )
}

const checkMode = ({ mode, model, modelName, pathOf }: CheckedVideoRequest): void => {
  if (!model.modes.includes(mode))
    throw videoRefusal('unsupported_value', pathOf('mode'), `\`${modelName}\` has the modes ${model.modes.join(', ')}.`)
}

const checkDuration = ({ body, model, modelName, pathOf }: CheckedVideoRequest): void => {
  if (isEdit(body)) return
  const seconds = readVideoDuration(body)
  if (seconds === null || !model.durations.includes(seconds))
    throw videoRefusal(
      'unsupported_value',
      pathOf('duration'),
      `\`${modelName}\` makes videos of ${model.durations.join(', ')} seconds.`,
    )
}

const checkSoundBesideVideo = (asked: CheckedVideoRequest): void => {
  const { body, pathOf } = asked
  const path = pathOf('sound')
  if (body.sound === 'on' && isGiven(asked, 'video_list'))
    throw videoRefusal(
      'invalid_parameter_combination',
      path,
      `'${path}' must be \`off\` with '${pathOf('video_list')}': a reference video brings its own sound.`,
    )
}

const checkSound = ({ body, mode, model, modelName, pathOf }: CheckedVideoRequest): void => {
  if (body.sound === 'on' && !model.audioModes.includes(mode))
    throw videoRefusal(
      'unsupported_value',
      pathOf('sound'),
      `\`${modelName}\` makes no soundtrack in the mode \`${mode}\`.`,
    )
}

const checkReferenceVideo = (asked: CheckedVideoRequest): void => {
  const { body, mode, model, modelName, pathOf } = asked
  const { video_list: videos = [] } = body
  if (videos.length === 0) return
  const { modes = [], durations = [] } = model.videoReference ?? {}
  if (videos.length > 1)
    throw videoRefusal(
      'invalid_value',
      pathOf('video_list'),
      `Invalid value for '${pathOf('video_list')}': at most 1 video.`,
    )
  if (!modes.includes(mode))
    throw videoRefusal(
      'unsupported_value',
      pathOf('mode'),
      `With a reference video \`${modelName}\` has the modes ${modes.join(', ')}.`,
    )
  if (!isEdit(body) && !durations.includes(readVideoDuration(body) ?? 0))
    throw videoRefusal(
      'unsupported_value',
      pathOf('duration'),
      `With a reference video \`${modelName}\` makes videos of ${durations.join(', ')} seconds.`,
    )
}

const checkFrames = ({ body, pathOf }: CheckedVideoRequest): void => {
  const { image_list: images = [] } = body
  const path = pathOf('image_list')
  const [first = 0, last = 0] = ['first_frame', 'end_frame'].map(
    (frame) => images.filter(({ type }) => type === frame).length,
  )
  if (first > 1 || last > 1)
    throw videoRefusal('invalid_value', path, `'${path}' has more than one image for the same frame.`)
  if (last > first)
    throw videoRefusal('invalid_parameter_combination', path, `'${path}' has an end frame and no first frame.`)
  if (last > 0 && images.length > imagesWithEndFrameMax)
    throw videoRefusal('invalid_parameter_combination', path, `'${path}' has an end frame and more than 2 images.`)
  if (first > 0 && isEdit(body))
    throw videoRefusal(
      'invalid_parameter_combination',
      path,
      `'${path}' has a first frame, and '${pathOf('video_list')}' a video to be edited.`,
    )
}

const checkReferences = (asked: CheckedVideoRequest): void => {
  const { image_list: images = [], element_list: elements = [] } = asked.body
  const countMax = isGiven(asked, 'video_list') ? referencesWithVideoMax : referencesMax
  const path = asked.pathOf(images.length > 0 ? 'image_list' : 'element_list')
  if (images.length + elements.length > countMax)
    throw videoRefusal(
      'invalid_value',
      path,
      `At most ${countMax} images and elements in total; '${path}' makes them more.`,
    )
}

const checkCfgScale = ({ body, pathOf }: CheckedVideoRequest): void => {
  const { cfg_scale } = body
  if (cfg_scale !== undefined && !(cfg_scale >= 0 && cfg_scale <= 1))
    throw videoRefusal('invalid_value', pathOf('cfg_scale'), `Invalid value for '${pathOf('cfg_scale')}': from 0 to 1.`)
}

const checkVoices = ({ body, pathOf }: CheckedVideoRequest): void => {
  if ((body.voice_list ?? []).length > voicesMax)
    throw videoRefusal(
      'invalid_value',
      pathOf('voice_list'),
      `Invalid value for '${pathOf('voice_list')}': at most 2 voices.`,
    )
}

const checkExternalId = ({ request, pathOf }: CheckedVideoRequest): void => {
  const { externalTaskId } = request
  const path = pathOf('external_task_id')
  if (externalTaskId !== null && (externalTaskId === '' || isLongerThan(externalTaskId, externalIdCharactersMax)))
    throw videoRefusal(
      'invalid_value',
      path,
      `Invalid value for '${path}': 1 to ${externalIdCharactersMax} characters.`,
    )
}

const cameraMoves = ['simple', 'down_back', 'forward_up', 'right_turn_forward', 'left_turn_forward']
const cameraAxes = ['horizontal', 'vertical', 'pan', 'tilt', 'roll', 'zoom']
const cameraSwingMax = 10

const isSwing = (value: unknown): boolean => typeof value === 'number' && Math.abs(value) <= cameraSwingMax

const checkCamera = ({ body, pathOf }: CheckedVideoRequest): void => {
  const { camera_control: camera } = body
  if (camera === undefined) return
  const path = pathOf('camera_control')
  checkWord(camera['type'], `${path}.type`, cameraMoves)
  const axes = Object.entries(camera['config'] ?? {})
  const wrong = axes.find(([axis, value]) => !cameraAxes.includes(axis) || !isSwing(value))
  if (wrong !== undefined) {
    const wrongPath = `${path}.config.${truncateName(wrong[0])}`
    throw videoRefusal(
      'invalid_value',
      wrongPath,
      `Invalid value for '${wrongPath}': ${cameraAxes.join(', ')}, each from -10 to 10.`,
    )
  }
  if (camera['type'] === 'simple' && axes.filter(([, value]) => value !== 0).length !== 1)
    throw videoRefusal(
      'invalid_value',
      `${path}.config`,
      `Invalid value for '${path}.config': exactly one movement is not zero.`,
    )
}

/** The first broken rule is reported. Expensive checks, and those of inline media, come last. */
const rules: readonly ((asked: CheckedVideoRequest) => void)[] = [
  checkWords,
  checkSoundBesideVideo,
  checkKind,
  checkSingleSourceFields,
  checkMode,
  checkDuration,
  checkSound,
  checkReferenceVideo,
  checkFrames,
  checkReferences,
  checkPrompts,
  checkShots,
  checkPlaceholders,
  checkCfgScale,
  checkVoices,
  checkCamera,
  checkExternalId,
  checkCallbackUrl,
  checkVideos,
  checkImages,
]

/**
 * Throws the first error of a request, naming the field as `pathOf` does: `pathOf('sound')` may be `metadata.sound`.
 * The model's name is the one after the provider's slash. `dimensionsOf` reads the pixels of an image out of its
 * base64; null where it holds no image.
 */
export const checkVideoRequest = (
  request: VideoRequest,
  modelName: string,
  pathOf: (field: string) => string,
  dimensionsOf: (base64: string) => Dimensions | null,
): void => {
  const model = videoModelOf(modelName)
  if (model === undefined)
    throw videoRefusal('unsupported_value', pathOf('model'), `What \`${modelName}\` supports is not known here.`)
  const asked: CheckedVideoRequest = {
    request,
    body: request.body,
    modelName,
    model,
    mode: readVideoMode(request),
    pathOf,
    dimensionsOf,
  }
  for (const rule of rules) rule(asked)
}
