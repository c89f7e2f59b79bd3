import t from 'tap'
import type { VideoRequest } from '../../../src/domain/video/request.ts'
import { checkVideoRequest } from '../../../src/domain/video/rules.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import { errorStatusOf } from '../../../src/http/error-table.ts'
import {
  endFrame,
  feature,
  firstFrame,
  image,
  omni,
  pixels,
  references,
  type Sketch,
  shots,
  text,
  video,
} from './requests.ts'

const topLevel = ['model', 'prompt', 'image']
const generic = (field: string): string => (topLevel.includes(field) ? field : `metadata.${field}`)

const dimensionsOf = (base64: string) => {
  const [, width, height] = /^px([0-9]+)x([0-9]+)xA*=*$/.exec(base64) ?? []
  return width === undefined ? null : { width: Number(width), height: Number(height) }
}

const refusalOf = (
  modelName: string,
  request: VideoRequest,
  pathOf: (field: string) => string = generic,
): readonly [param: string | null, code: string, status: number] | 'passes' => {
  try {
    checkVideoRequest(request, modelName, pathOf, dimensionsOf)
    return 'passes'
  } catch (fault) {
    if (!(fault instanceof GatewayError)) throw fault
    return [fault.param, fault.code, errorStatusOf(fault)]
  }
}

interface Row {
  readonly rule: string
  readonly model: string
  readonly broken: VideoRequest
  readonly param: string
  readonly code: string
  readonly kept: VideoRequest
  /** Where the neighbour is a request for another model. */
  readonly keptBy?: string
}

const invalid = 'invalid_value'
const missing = 'missing_required_parameter'
const combination = 'invalid_parameter_combination'
const noParameter = 'unsupported_parameter'
const noValue = 'unsupported_value'

/** As a caller may write it, whatever the types say. */
const unread = (members: object): Sketch => members as Sketch

const custom = (sketch: Sketch = {}): Sketch => ({ multi_shot: true, multi_prompt: shots(2, 3), ...sketch })
const shot = (member: object) => [{ ...shots(5)[0]!, ...member }]
const tenMebibytes = 'A'.repeat(Math.ceil((10 * 1024 * 1024) / 3) * 4)

const modelRows: readonly Row[] = [
  {
    rule: 'a model has features that are known',
    model: 'v9',
    broken: text(),
    param: 'model',
    code: noValue,
    kept: text(),
    keptBy: 'v3',
  },
  {
    rule: 'images as references are for Omni models',
    model: 'v3',
    broken: omni({ image_list: references(1) }),
    param: 'metadata.image_list',
    code: noParameter,
    kept: omni({ image_list: references(1) }),
    keptBy: 'v3-omni',
  },
  {
    rule: 'a video as a reference is for Omni models',
    model: 'v2-6',
    broken: omni({ video_list: [video] }),
    param: 'metadata.video_list',
    code: noParameter,
    kept: omni({ video_list: [video] }),
    keptBy: 'video-o1',
  },
  {
    rule: 'elements are for Omni models',
    model: 'v3',
    broken: omni({ element_list: [{ element_id: 1 }] }),
    param: 'metadata.element_list',
    code: noParameter,
    kept: omni({ element_list: [{ element_id: 1 }] }),
    keptBy: 'video-o1',
  },
  {
    rule: 'references are for videos of several sources',
    model: 'v3-omni',
    broken: text({ image_list: references(1) }),
    param: 'metadata.image_list',
    code: noParameter,
    kept: text({ image_list: [] }),
  },
  {
    rule: 'only Omni models make videos of several sources',
    model: 'v2-5-turbo',
    broken: omni(),
    param: 'model',
    code: noValue,
    kept: text(),
  },
  {
    rule: 'a first frame of its own is for a video made from an image',
    model: 'v3',
    broken: text({ image: 'https://example.com/a.png' }),
    param: 'image',
    code: noParameter,
    kept: image(),
  },
  {
    rule: 'in a video of several sources frames stand in the list',
    model: 'v3-omni',
    broken: omni({ image_tail: 'https://example.com/a.png' }),
    param: 'metadata.image_tail',
    code: noParameter,
    kept: omni({ image_list: [firstFrame, endFrame] }),
  },
  {
    rule: 'a video made from an image needs one',
    model: 'v3',
    broken: { ...image(), body: { prompt: 'a cat' } },
    param: 'image',
    code: missing,
    kept: { ...image(), body: { prompt: 'a cat', image_tail: 'https://example.com/a.png' } },
  },
  {
    rule: 'several shots are for v3 and v3-omni',
    model: 'v2-6',
    broken: text(custom()),
    param: 'metadata.multi_shot',
    code: noParameter,
    kept: text(custom()),
    keptBy: 'v3',
  },
  {
    rule: 'o1 makes no several shots',
    model: 'video-o1',
    broken: omni(custom()),
    param: 'metadata.multi_shot',
    code: noParameter,
    kept: omni(custom()),
    keptBy: 'v3-omni',
  },
  {
    rule: 'a negative prompt is not for videos of several sources',
    model: 'v3-omni',
    broken: omni({ negative_prompt: 'dogs' }),
    param: 'metadata.negative_prompt',
    code: noParameter,
    kept: text({ negative_prompt: 'dogs' }),
  },
  {
    rule: 'a cfg_scale is not for videos of several sources',
    model: 'v3-omni',
    broken: omni({ cfg_scale: 0.5 }),
    param: 'metadata.cfg_scale',
    code: noParameter,
    kept: image({ cfg_scale: 0.5 }),
  },
  {
    rule: 'camera movements are not for videos of several sources',
    model: 'video-o1',
    broken: omni({ camera_control: { type: 'down_back' } }),
    param: 'metadata.camera_control',
    code: noParameter,
    kept: text({ camera_control: { type: 'down_back' } }),
  },
]

const lengthRows: readonly Row[] = [
  {
    rule: '4k is for v3 and v3-omni',
    model: 'v2-6',
    broken: text({ mode: '4k' }),
    param: 'metadata.mode',
    code: noValue,
    kept: text({ mode: '4k' }),
    keptBy: 'v3',
  },
  {
    rule: 'o1 has no 4k',
    model: 'video-o1',
    broken: omni({ mode: '4k' }),
    param: 'metadata.mode',
    code: noValue,
    kept: omni({ mode: '4k' }),
    keptBy: 'v3-omni',
  },
  {
    rule: 'a mode is one of the vendor',
    model: 'v3',
    broken: text(unread({ mode: 'ultra' })),
    param: 'metadata.mode',
    code: noValue,
    kept: text({ mode: 'pro' }),
  },
  {
    rule: 'v3 takes at least 3 seconds',
    model: 'v3',
    broken: text({ duration: '2' }),
    param: 'metadata.duration',
    code: noValue,
    kept: text({ duration: '3' }),
  },
  {
    rule: 'v3 takes at most 15 seconds',
    model: 'v3',
    broken: text({ duration: '16' }),
    param: 'metadata.duration',
    code: noValue,
    kept: text({ duration: '15' }),
  },
  {
    rule: 'o1 takes 5 or 10 seconds',
    model: 'video-o1',
    broken: omni({ duration: '6' }),
    param: 'metadata.duration',
    code: noValue,
    kept: omni({ duration: '10' }),
  },
  {
    rule: 'v2-6 takes 5 or 10 seconds',
    model: 'v2-6',
    broken: text({ duration: '7' }),
    param: 'metadata.duration',
    code: noValue,
    kept: text({ duration: '5' }),
  },
  {
    rule: 'v2-5-turbo takes 5 or 10 seconds',
    model: 'v2-5-turbo',
    broken: text({ duration: '15' }),
    param: 'metadata.duration',
    code: noValue,
    kept: text({ duration: '10' }),
  },
  {
    rule: 'v2-master takes 5 or 10 seconds',
    model: 'v2-master',
    broken: text({ duration: '4' }),
    param: 'metadata.duration',
    code: noValue,
    kept: text({ duration: '10' }),
  },
  {
    rule: 'v2-1-master takes 5 or 10 seconds',
    model: 'v2-1-master',
    broken: text({ duration: '11' }),
    param: 'metadata.duration',
    code: noValue,
    kept: text({ duration: '10' }),
  },
  {
    rule: 'a duration is whole seconds',
    model: 'v3',
    broken: text({ duration: '5.5' }),
    param: 'metadata.duration',
    code: noValue,
    kept: text({ duration: '5' }),
  },
  {
    rule: 'a duration is a plain number',
    model: 'v3',
    broken: text({ duration: '5s' }),
    param: 'metadata.duration',
    code: noValue,
    kept: text(),
  },
]

const soundRows: readonly Row[] = [
  {
    rule: 'sound is off with a reference video',
    model: 'v3-omni',
    broken: omni({ sound: 'on', video_list: [video] }),
    param: 'metadata.sound',
    code: combination,
    kept: omni({ sound: 'off', video_list: [video] }),
  },
  {
    rule: 'sound is off with a reference video, whatever the model',
    model: 'v3',
    broken: omni({ sound: 'on', video_list: [feature] }),
    param: 'metadata.sound',
    code: combination,
    kept: text({ sound: 'on' }),
  },
  {
    rule: 'v2-6 has sound in pro only',
    model: 'v2-6',
    broken: text({ sound: 'on', mode: 'std' }),
    param: 'metadata.sound',
    code: noValue,
    kept: text({ sound: 'on', mode: 'pro' }),
  },
  {
    rule: 'v2-6 has no sound in its default mode',
    model: 'v2-6',
    broken: image({ sound: 'on' }),
    param: 'metadata.sound',
    code: noValue,
    kept: image({ sound: 'off' }),
  },
  {
    rule: 'o1 has no sound',
    model: 'video-o1',
    broken: omni({ sound: 'on' }),
    param: 'metadata.sound',
    code: noValue,
    kept: omni({ sound: 'on' }),
    keptBy: 'v3-omni',
  },
  {
    rule: 'v2-5-turbo has no sound',
    model: 'v2-5-turbo',
    broken: text({ sound: 'on', mode: 'pro' }),
    param: 'metadata.sound',
    code: noValue,
    kept: text({ mode: 'pro' }),
  },
  {
    rule: 'v2-master has no sound',
    model: 'v2-master',
    broken: text({ sound: 'on', mode: 'pro' }),
    param: 'metadata.sound',
    code: noValue,
    kept: text(),
  },
  {
    rule: 'v2-1-master has no sound',
    model: 'v2-1-master',
    broken: text({ sound: 'on', mode: 'pro' }),
    param: 'metadata.sound',
    code: noValue,
    kept: text(),
  },
  {
    rule: 'sound is on or off',
    model: 'v3',
    broken: text(unread({ sound: 'loud' })),
    param: 'metadata.sound',
    code: invalid,
    kept: text({ sound: 'on', mode: '4k' }),
  },
  {
    rule: 'at most two voices',
    model: 'v3',
    broken: text({ voice_list: [{ voice_id: '1' }, { voice_id: '2' }, { voice_id: '3' }] }),
    param: 'metadata.voice_list',
    code: invalid,
    kept: text({ voice_list: [{ voice_id: '1' }, { voice_id: '2' }] }),
  },
]

const videoRows: readonly Row[] = [
  {
    rule: 'at most one video',
    model: 'v3-omni',
    broken: omni({ video_list: [video, feature] }),
    param: 'metadata.video_list',
    code: invalid,
    kept: omni({ video_list: [video] }),
  },
  {
    rule: 'a video is MP4 or MOV',
    model: 'v3-omni',
    broken: omni({ video_list: [{ video_url: 'https://example.com/a.webm?name=a.mp4' }] }),
    param: 'metadata.video_list[0].video_url',
    code: noValue,
    kept: omni({ video_list: [{ video_url: 'https://example.com/a.b/A.MOV?name=a.webm' }] }),
  },
  {
    rule: 'a video is at a URL',
    model: 'v3-omni',
    broken: omni({ video_list: [{ video_url: pixels(720, 720) }] }),
    param: 'metadata.video_list[0].video_url',
    code: invalid,
    kept: omni({ video_list: [{ video_url: 'http://example.com/clips/7' }] }),
  },
  {
    rule: "a video's URL is http or https",
    model: 'v3-omni',
    broken: omni({ video_list: [{ video_url: 'ftp://example.com/a.mp4' }] }),
    param: 'metadata.video_list[0].video_url',
    code: invalid,
    kept: omni({ video_list: [{ video_url: 'HTTPS://example.com/a.mp4' }] }),
  },
  {
    rule: 'a refer_type is base or feature',
    model: 'v3-omni',
    broken: omni(unread({ video_list: [{ ...video, refer_type: 'style' }] })),
    param: 'metadata.video_list[0].refer_type',
    code: invalid,
    kept: omni({ video_list: [feature] }),
  },
  {
    rule: 'keep_original_sound is yes or no',
    model: 'v3-omni',
    broken: omni(unread({ video_list: [{ ...video, keep_original_sound: 'on' }] })),
    param: 'metadata.video_list[0].keep_original_sound',
    code: invalid,
    kept: omni({ video_list: [{ ...video, keep_original_sound: 'yes' }] }),
  },
  {
    rule: 'v3-omni with a video takes at most 10 seconds',
    model: 'v3-omni',
    broken: omni({ video_list: [feature], duration: '11' }),
    param: 'metadata.duration',
    code: noValue,
    kept: omni({ video_list: [feature], duration: '10' }),
  },
  {
    rule: 'v3-omni with a video takes at least 3 seconds',
    model: 'v3-omni',
    broken: omni({ video_list: [feature], duration: '2' }),
    param: 'metadata.duration',
    code: noValue,
    kept: omni({ video_list: [feature], duration: '3' }),
  },
  {
    rule: 'v3-omni with a video has no 4k',
    model: 'v3-omni',
    broken: omni({ video_list: [feature], mode: '4k' }),
    param: 'metadata.mode',
    code: noValue,
    kept: omni({ video_list: [feature], mode: 'std' }),
  },
  {
    rule: 'o1 with a video takes 5 or 10 seconds',
    model: 'video-o1',
    broken: omni({ video_list: [feature], duration: '7' }),
    param: 'metadata.duration',
    code: noValue,
    kept: omni({ video_list: [feature], duration: '10' }),
  },
  {
    rule: 'a video that is edited has no first frame',
    model: 'v3-omni',
    broken: omni({ video_list: [video], image_list: [firstFrame] }),
    param: 'metadata.image_list',
    code: combination,
    kept: omni({ video_list: [feature], image_list: [firstFrame] }),
  },
  {
    rule: 'a video that is edited has no frames',
    model: 'v3-omni',
    broken: omni({ video_list: [{ ...video, refer_type: 'base' }], image_list: [firstFrame, endFrame] }),
    param: 'metadata.image_list',
    code: combination,
    kept: omni({ video_list: [{ ...video, refer_type: 'base' }], image_list: references(2) }),
  },
]

const imageRows: readonly Row[] = [
  {
    rule: 'an end frame has a first frame',
    model: 'v3-omni',
    broken: omni({ image_list: [endFrame] }),
    param: 'metadata.image_list',
    code: combination,
    kept: omni({ image_list: [endFrame, firstFrame] }),
  },
  {
    rule: 'an end frame is not the second of two images without a first frame',
    model: 'video-o1',
    broken: omni({ image_list: [...references(1), endFrame] }),
    param: 'metadata.image_list',
    code: combination,
    kept: omni({ image_list: [...references(1), firstFrame] }),
  },
  {
    rule: 'an end frame has at most one image beside it',
    model: 'v3-omni',
    broken: omni({ image_list: [firstFrame, endFrame, ...references(1)] }),
    param: 'metadata.image_list',
    code: combination,
    kept: omni({ image_list: [firstFrame, ...references(2)] }),
  },
  {
    rule: 'there is one first frame',
    model: 'v3-omni',
    broken: omni({ image_list: [firstFrame, firstFrame] }),
    param: 'metadata.image_list',
    code: invalid,
    kept: omni({ image_list: [firstFrame] }),
  },
  {
    rule: 'an image is a first frame, an end frame or neither',
    model: 'v3-omni',
    broken: omni(unread({ image_list: [{ ...firstFrame, type: 'last_frame' }] })),
    param: 'metadata.image_list[0].type',
    code: invalid,
    kept: omni({ image_list: references(1) }),
  },
  {
    rule: 'at most 7 images',
    model: 'v3-omni',
    broken: omni({ image_list: references(8) }),
    param: 'metadata.image_list',
    code: invalid,
    kept: omni({ image_list: references(7) }),
  },
  {
    rule: 'at most 7 images and elements',
    model: 'v3-omni',
    broken: omni({ image_list: references(6), element_list: [{ element_id: 1 }, { element_id: '2' }] }),
    param: 'metadata.image_list',
    code: invalid,
    kept: omni({ image_list: references(6), element_list: [{ element_id: 1 }] }),
  },
  {
    rule: 'at most 7 elements',
    model: 'v3-omni',
    broken: omni({ element_list: Array.from({ length: 8 }, (_, element_id) => ({ element_id })) }),
    param: 'metadata.element_list',
    code: invalid,
    kept: omni({ element_list: Array.from({ length: 7 }, (_, element_id) => ({ element_id })) }),
  },
  {
    rule: 'at most 4 images and elements beside a video',
    model: 'v3-omni',
    broken: omni({
      video_list: [feature],
      image_list: references(3),
      element_list: [{ element_id: 1 }, { element_id: 2 }],
    }),
    param: 'metadata.image_list',
    code: invalid,
    kept: omni({ video_list: [feature], image_list: references(3), element_list: [{ element_id: 1 }] }),
  },
  {
    rule: 'a first frame has no data: prefix',
    model: 'v3',
    broken: image({ image: `data:image/png;base64,${pixels(600, 600)}` }),
    param: 'image',
    code: invalid,
    kept: image({ image: pixels(600, 600) }),
  },
  {
    rule: 'a last frame has no data: prefix',
    model: 'v3',
    broken: image({ image_tail: `DATA:image/png;base64,${pixels(600, 600)}` }),
    param: 'metadata.image_tail',
    code: invalid,
    kept: image({ image_tail: pixels(600, 600) }),
  },
  {
    rule: 'a reference image has no data: prefix',
    model: 'v3-omni',
    broken: omni({ image_list: [...references(1), { image_url: `data:image/png;base64,${pixels(600, 600)}` }] }),
    param: 'metadata.image_list[1].image_url',
    code: invalid,
    kept: omni({ image_list: [...references(1), { image_url: pixels(600, 600) }] }),
  },
  {
    rule: 'a mask has no data: prefix',
    model: 'v2-master',
    broken: image({ static_mask: 'data:image/png;base64,AAAA' }),
    param: 'metadata.static_mask',
    code: invalid,
    kept: image({ static_mask: 'https://example.com/mask.png' }),
  },
  {
    rule: 'a moving mask has no data: prefix',
    model: 'v2-master',
    broken: image({ dynamic_masks: [{ mask: 'data:image/png;base64,AAAA', trajectories: [] }] }),
    param: 'metadata.dynamic_masks[0].mask',
    code: invalid,
    kept: image({ dynamic_masks: [{ mask: 'https://example.com/mask.png', trajectories: [] }] }),
  },
  {
    rule: 'a moving mask has an image',
    model: 'v2-master',
    broken: image({ dynamic_masks: [{ trajectories: [] }] }),
    param: 'metadata.dynamic_masks[0].mask',
    code: invalid,
    kept: image({ dynamic_masks: [] }),
  },
  {
    rule: 'an image is a URL or base64',
    model: 'v3',
    broken: image({ image: 'cat.png' }),
    param: 'image',
    code: invalid,
    kept: image({ image: 'http://example.com/cat' }),
  },
  {
    rule: 'an image is not empty',
    model: 'v3',
    broken: image({ image: '' }),
    param: 'image',
    code: invalid,
    kept: image(),
  },
  {
    rule: 'base64 has a length that base64 can have',
    model: 'v3',
    broken: image({ image: 'AAAAA' }),
    param: 'image',
    code: invalid,
    kept: image({ image: pixels(600, 600).replace(/A$/, '=') }),
  },
  {
    rule: "an image's URL is http or https",
    model: 'v3',
    broken: image({ image: 'file:///etc/passwd' }),
    param: 'image',
    code: invalid,
    kept: image({ image: 'https://example.com/etc/passwd' }),
  },
  {
    rule: "an image's URL is one",
    model: 'v3',
    broken: image({ image: 'https://' }),
    param: 'image',
    code: invalid,
    kept: image({ image: 'https://a' }),
  },
  {
    rule: 'an image has at most 10 MB',
    model: 'v3',
    broken: image({ image: `${tenMebibytes}AAAA` }),
    param: 'image',
    code: invalid,
    kept: image({ image: pixels(600, 600) }),
  },
  {
    rule: 'an image is one',
    model: 'v3',
    broken: image({ image: 'aGVsbG8gd29ybGQ=' }),
    param: 'image',
    code: invalid,
    kept: image({ image: pixels(300, 300) }),
  },
  {
    rule: 'an image is at least 300 pixels wide',
    model: 'v3',
    broken: image({ image: pixels(299, 400) }),
    param: 'image',
    code: invalid,
    kept: image({ image: pixels(300, 400) }),
  },
  {
    rule: 'an image is at least 300 pixels high',
    model: 'v3',
    broken: image({ image: pixels(400, 299) }),
    param: 'image',
    code: invalid,
    kept: image({ image: pixels(400, 300) }),
  },
  {
    rule: 'an image is at most 2.5 times as wide as high',
    model: 'v3-omni',
    broken: omni({ image_list: [{ image_url: pixels(1001, 400) }] }),
    param: 'metadata.image_list[0].image_url',
    code: invalid,
    kept: omni({ image_list: [{ image_url: pixels(1000, 400) }] }),
  },
  {
    rule: 'an image is at most 2.5 times as high as wide',
    model: 'v3',
    broken: image({ image_tail: pixels(400, 1001) }),
    param: 'metadata.image_tail',
    code: invalid,
    kept: image({ image_tail: pixels(400, 1000) }),
  },
]

const promptRows: readonly Row[] = [
  {
    rule: 'there is a prompt',
    model: 'v3',
    broken: { ...text(), body: {} },
    param: 'prompt',
    code: missing,
    kept: text(),
  },
  {
    rule: 'a prompt is not blank',
    model: 'v3',
    broken: image({ prompt: ' \n' }),
    param: 'prompt',
    code: missing,
    kept: image({ prompt: '.' }),
  },
  {
    rule: 'custom shots take the place of a prompt of any length',
    model: 'v3',
    broken: text({ multi_shot: true, shot_type: 'intelligence', prompt: 'a'.repeat(2_501) }),
    param: 'prompt',
    code: invalid,
    kept: text({ ...custom(), prompt: 'a'.repeat(2_501) }),
  },
  {
    rule: 'the duration of an edit is ignored',
    model: 'v3-omni',
    broken: omni({ video_list: [feature], duration: '60' }),
    param: 'metadata.duration',
    code: noValue,
    kept: omni({ video_list: [{ ...video, refer_type: 'base' }], duration: '60' }),
  },
  {
    rule: 'a prompt has at most 2500 characters',
    model: 'v3',
    broken: text({ prompt: 'a'.repeat(2_501) }),
    param: 'prompt',
    code: invalid,
    kept: text({ prompt: '🐈'.repeat(2_500) }),
  },
  {
    rule: 'characters are counted, not units of UTF-16',
    model: 'v3',
    broken: text({ prompt: '🐈'.repeat(2_501) }),
    param: 'prompt',
    code: invalid,
    kept: text({ prompt: 'a'.repeat(2_500) }),
  },
  {
    rule: 'a negative prompt has at most 2500 characters',
    model: 'v3',
    broken: text({ negative_prompt: 'a'.repeat(2_501) }),
    param: 'metadata.negative_prompt',
    code: invalid,
    kept: text({ negative_prompt: 'a'.repeat(2_500) }),
  },
  {
    rule: 'a placeholder counts from 1',
    model: 'v3-omni',
    broken: omni({ prompt: 'a <<<image_0>>>', image_list: references(1) }),
    param: 'prompt',
    code: invalid,
    kept: omni({ prompt: 'a <<<image_1>>>', image_list: references(1) }),
  },
  {
    rule: 'an image placeholder has its image',
    model: 'v3-omni',
    broken: omni({ prompt: '<<<image_1>>> and <<<image_3>>>', image_list: references(2) }),
    param: 'prompt',
    code: invalid,
    kept: omni({ prompt: '<<<image_1>>> and <<<image_2>>>', image_list: references(2) }),
  },
  {
    rule: 'a video placeholder has its video',
    model: 'v3-omni',
    broken: omni({ prompt: 'like <<<video_1>>>', image_list: references(2) }),
    param: 'prompt',
    code: invalid,
    kept: omni({ prompt: 'like <<<video_1>>>', video_list: [feature] }),
  },
  {
    rule: 'an element placeholder has its element',
    model: 'video-o1',
    broken: omni({ prompt: '<<<element_2>>>', element_list: [{ element_id: 1 }] }),
    param: 'prompt',
    code: invalid,
    kept: omni({ prompt: '<<<element_1>>>', element_list: [{ element_id: 1 }] }),
  },
  {
    rule: "a placeholder's index is a number",
    model: 'v3-omni',
    broken: omni({ prompt: '<<<image_one>>>', image_list: references(2) }),
    param: 'prompt',
    code: invalid,
    kept: omni({ prompt: '<<<voice_one>>> <<image_9>>', image_list: references(2) }),
  },
  {
    rule: 'placeholders are for videos of several sources',
    model: 'v3',
    broken: image({ prompt: '<<<image_1>>> runs' }),
    param: 'prompt',
    code: invalid,
    kept: image({ prompt: 'it runs' }),
  },
  {
    rule: 'a placeholder of a shot has its input',
    model: 'v3-omni',
    broken: omni(
      custom({
        multi_prompt: [shots(2)[0]!, { index: 2, prompt: '<<<image_2>>>', duration: '3' }],
        image_list: references(1),
      }),
    ),
    param: 'metadata.multi_prompt[1].prompt',
    code: invalid,
    kept: omni(
      custom({
        multi_prompt: [shots(2)[0]!, { index: 2, prompt: '<<<image_1>>>', duration: '3' }],
        image_list: references(1),
      }),
    ),
  },
]

const shotRows: readonly Row[] = [
  {
    rule: 'shots of one’s own are told',
    model: 'v3',
    broken: text({ multi_shot: true, shot_type: 'customize' }),
    param: 'metadata.multi_prompt',
    code: missing,
    kept: text({ multi_shot: true, shot_type: 'customize', multi_prompt: shots(5) }),
  },
  {
    rule: 'shots are one’s own unless they are left to the vendor',
    model: 'v3',
    broken: text({ multi_shot: true }),
    param: 'metadata.multi_prompt',
    code: missing,
    kept: text({ multi_shot: true, shot_type: 'intelligence' }),
  },
  {
    rule: 'shots left to the vendor need a prompt',
    model: 'v3',
    broken: text({ multi_shot: true, shot_type: 'intelligence', prompt: '' }),
    param: 'prompt',
    code: missing,
    kept: text(custom({ prompt: '' })),
  },
  {
    rule: 'shots left to the vendor are not told',
    model: 'v3',
    broken: text({ multi_shot: true, shot_type: 'intelligence', multi_prompt: shots(5) }),
    param: 'metadata.multi_prompt',
    code: combination,
    kept: text({ multi_shot: true, shot_type: 'intelligence', multi_prompt: [] }),
  },
  {
    rule: 'a video of one shot has no list of them',
    model: 'v3',
    broken: text({ multi_prompt: shots(5) }),
    param: 'metadata.multi_prompt',
    code: combination,
    kept: text({ multi_shot: false, shot_type: 'customize' }),
  },
  {
    rule: 'a shot_type is customize or intelligence',
    model: 'v3',
    broken: text(unread({ ...custom(), shot_type: 'auto' })),
    param: 'metadata.shot_type',
    code: invalid,
    kept: text(custom({ shot_type: 'customize' })),
  },
  {
    rule: 'at most 6 shots',
    model: 'v3',
    broken: text(custom({ multi_prompt: shots(1, 1, 1, 1, 1, 1, 1), duration: '7' })),
    param: 'metadata.multi_prompt',
    code: invalid,
    kept: text(custom({ multi_prompt: shots(1, 1, 1, 1, 1, 1), duration: '6' })),
  },
  {
    rule: 'a shot’s prompt has at most 512 characters',
    model: 'v3',
    broken: text(custom({ multi_prompt: shot({ prompt: 'a'.repeat(513) }) })),
    param: 'metadata.multi_prompt[0].prompt',
    code: invalid,
    kept: text(custom({ multi_prompt: shot({ prompt: 'a'.repeat(512) }) })),
  },
  {
    rule: 'a shot’s prompt is not blank',
    model: 'v3',
    broken: text(custom({ multi_prompt: shot({ prompt: ' ' }) })),
    param: 'metadata.multi_prompt[0].prompt',
    code: invalid,
    kept: text(custom({ multi_prompt: shot({ prompt: 'a' }) })),
  },
  {
    rule: 'a shot takes at least a second',
    model: 'v3',
    broken: text(custom({ multi_prompt: shots(5, 0) })),
    param: 'metadata.multi_prompt[1].duration',
    code: invalid,
    kept: text(custom({ multi_prompt: shots(4, 1) })),
  },
  {
    rule: 'a shot takes whole seconds',
    model: 'v3',
    broken: text(custom({ multi_prompt: shots(2.5, 2.5) })),
    param: 'metadata.multi_prompt[0].duration',
    code: invalid,
    kept: text(custom({ multi_prompt: shots(2, 3) })),
  },
  {
    rule: 'shots take the video’s duration together',
    model: 'v3',
    broken: text(custom({ multi_prompt: shots(5, 5), duration: '11' })),
    param: 'metadata.multi_prompt',
    code: invalid,
    kept: text(custom({ multi_prompt: shots(5, 5), duration: '10' })),
  },
  {
    rule: 'shots take the default duration together where none is told',
    model: 'v3-omni',
    broken: omni(custom({ multi_prompt: shots(3, 3) })),
    param: 'metadata.multi_prompt',
    code: invalid,
    kept: omni(custom({ multi_prompt: shots(3, 2) })),
  },
  {
    rule: 'shots are in order',
    model: 'v3',
    broken: text(custom({ multi_prompt: shots(2, 3).toReversed() })),
    param: 'metadata.multi_prompt[0].index',
    code: invalid,
    kept: text(custom({ multi_prompt: shots(2, 3) })),
  },
  {
    rule: 'shots are numbered from 1',
    model: 'v3',
    broken: text(custom({ multi_prompt: shot({ index: 0 }) })),
    param: 'metadata.multi_prompt[0].index',
    code: invalid,
    kept: text(custom({ multi_prompt: shot({ index: 1 }) })),
  },
]

const otherRows: readonly Row[] = [
  {
    rule: 'a cfg_scale is at most 1',
    model: 'v2-6',
    broken: text({ cfg_scale: 1.01 }),
    param: 'metadata.cfg_scale',
    code: invalid,
    kept: text({ cfg_scale: 1 }),
  },
  {
    rule: 'a cfg_scale is at least 0',
    model: 'v2-6',
    broken: text({ cfg_scale: -0.01 }),
    param: 'metadata.cfg_scale',
    code: invalid,
    kept: text({ cfg_scale: 0 }),
  },
  {
    rule: 'an aspect_ratio is one of three',
    model: 'v3',
    broken: text(unread({ aspect_ratio: '4:3' })),
    param: 'metadata.aspect_ratio',
    code: invalid,
    kept: text({ aspect_ratio: '9:16' }),
  },
  {
    rule: 'a camera moves in one of five ways',
    model: 'v2-master',
    broken: text({ camera_control: { type: 'sideways' } }),
    param: 'metadata.camera_control.type',
    code: invalid,
    kept: text({ camera_control: { type: 'forward_up' } }),
  },
  {
    rule: 'a camera moves from -10 to 10',
    model: 'v2-master',
    broken: text({ camera_control: { type: 'simple', config: { pan: 11 } } }),
    param: 'metadata.camera_control.config.pan',
    code: invalid,
    kept: text({ camera_control: { type: 'simple', config: { pan: -10, zoom: 0 } } }),
  },
  {
    rule: 'a camera moves along six axes',
    model: 'v2-master',
    broken: text({ camera_control: { type: 'simple', config: { yaw: 1 } } }),
    param: 'metadata.camera_control.config.yaw',
    code: invalid,
    kept: text({ camera_control: { config: { roll: 1, tilt: 2 } } }),
  },
  {
    rule: 'a simple camera has exactly one movement',
    model: 'v2-master',
    broken: text({ camera_control: { type: 'simple', config: { pan: 1, zoom: 1 } } }),
    param: 'metadata.camera_control.config',
    code: invalid,
    kept: text({ camera_control: { type: 'simple', config: { zoom: 1 } } }),
  },
  {
    rule: 'a simple camera has a movement',
    model: 'v2-master',
    broken: text({ camera_control: { type: 'simple' } }),
    param: 'metadata.camera_control.config',
    code: invalid,
    kept: text({ camera_control: { type: 'down_back' } }),
  },
  {
    rule: "a callback's URL is http or https",
    model: 'v3',
    broken: text({ callbackUrl: 'ftp://example.com/done' }),
    param: 'metadata.callback_url',
    code: invalid,
    kept: text({ callbackUrl: 'https://example.com/done' }),
  },
  {
    rule: "a callback's URL is one",
    model: 'v3',
    broken: text({ callbackUrl: 'example.com/done' }),
    param: 'metadata.callback_url',
    code: invalid,
    kept: text({ callbackUrl: 'http://example.com' }),
  },
  {
    rule: 'an external_task_id has at most 256 characters',
    model: 'v3',
    broken: text({ externalTaskId: 'a'.repeat(257) }),
    param: 'metadata.external_task_id',
    code: invalid,
    kept: text({ externalTaskId: 'a'.repeat(256) }),
  },
  {
    rule: 'an external_task_id has a character',
    model: 'v3',
    broken: text({ externalTaskId: '' }),
    param: 'metadata.external_task_id',
    code: invalid,
    kept: text(),
  },
]

const rows = [
  ...modelRows,
  ...lengthRows,
  ...soundRows,
  ...videoRows,
  ...imageRows,
  ...promptRows,
  ...shotRows,
  ...otherRows,
]

t.test('every rule: the request that breaks it names the field, its neighbour passes', async (t) => {
  for (const { rule, model, broken, param, code, kept, keptBy = model } of rows) {
    t.same(refusalOf(model, broken), [param, code, 400], rule)
    t.equal(refusalOf(keptBy, kept), 'passes', `${rule}: the neighbour`)
  }
})

t.test('the rules are told apart', async (t) => {
  t.equal(new Set(rows.map(({ rule }) => rule)).size, rows.length)
})

t.test('every model makes a video of a prompt, and of a prompt and an image', async (t) => {
  for (const model of ['v3', 'v3-omni', 'video-o1', 'v2-6', 'v2-5-turbo', 'v2-master', 'v2-1-master'])
    for (const request of [text(), image(), image({ image_tail: pixels(600, 600) })])
      t.equal(refusalOf(model, request), 'passes', `${model} ${request.kind}`)
})

t.test('v3 and v3-omni have sound in each mode', async (t) => {
  for (const model of ['v3', 'v3-omni'])
    for (const mode of ['std', 'pro', '4k'] as const)
      t.equal(refusalOf(model, text({ mode, sound: 'on' })), 'passes', `${model} ${mode}`)
})

t.test('a field is named as the surface calls it', async (t) => {
  const native = (field: string): string => (field === 'model' ? 'model_name' : field)
  t.match(refusalOf('v3-omni', omni({ sound: 'on', video_list: [video] }), native), ['sound', combination])
  t.match(refusalOf('v3', omni(), native), ['model_name', noValue])
  t.match(refusalOf('v3-omni', omni({ image_list: [{ image_url: '' }] }), native), ['image_list[0].image_url', invalid])
})

t.test('an image is not decoded before it is known to be small', async (t) => {
  const request = image({ image: `${tenMebibytes}AAAA` })
  const decode = (): never => t.fail('it was decoded') as never
  t.throws(() => checkVideoRequest(request, 'v3', generic, decode), /larger than 10 MB/)
})
