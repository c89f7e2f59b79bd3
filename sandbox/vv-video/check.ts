import { asArray, asObject, asText, type JsonObject } from '../../src/encoding/json.ts'
import { getValidator } from '../../src/encoding/schema-validation.ts'
import { modeOf, plainVideoModel, tenthsPerSecond } from './rates.ts'
import { badParameter } from './refusing.ts'

interface VideoRule {
  readonly problem: string
  readonly breaks: (body: JsonObject, model: string, kind: string) => boolean
}

const omniModels: readonly string[] = ['v3-omni', 'video-o1']
const newModels: readonly string[] = ['v3', 'v3-omni']

const objectsIn = (body: JsonObject, name: string): readonly JsonObject[] => asArray(body[name]).map(asObject)
const hasVideo = (body: JsonObject): boolean => asArray(body['video_list']).length > 0
const frames = (body: JsonObject, type: string): number =>
  objectsIn(body, 'image_list').filter((image) => image['type'] === type).length
const durationOf = (body: JsonObject): string => asText(body['duration']) || '5'

const isBaseEdit = (body: JsonObject): boolean =>
  objectsIn(body, 'video_list').some((video) => (video['refer_type'] ?? 'base') === 'base')

const shotSeconds = (body: JsonObject): number =>
  objectsIn(body, 'multi_prompt').reduce((seconds, shot) => seconds + Number(shot['duration']), 0)

const referencesOf = (body: JsonObject): number =>
  asArray(body['image_list']).length + asArray(body['element_list']).length

const rules: readonly VideoRule[] = [
  {
    problem: 'model_name is not supported for this kind of video',
    breaks: (_, model, kind) => kind === 'omni-video' && !omniModels.includes(model),
  },
  {
    problem: 'prompt is required',
    breaks: ({ prompt, multi_shot }, _, kind) =>
      kind !== 'image2video' && multi_shot !== true && asText(prompt).trim() === '',
  },
  {
    problem: 'duration is not supported by the model',
    breaks: (body, model) => !newModels.includes(model) && !isBaseEdit(body) && !['5', '10'].includes(durationOf(body)),
  },
  {
    problem: 'duration is not supported with a video',
    breaks: (body) => hasVideo(body) && Number(durationOf(body)) > 10,
  },
  {
    problem: 'mode or sound is not supported by the model',
    breaks: (body, _, kind) => tenthsPerSecond(kind, body) === undefined,
  },
  {
    problem: 'an end frame needs a first frame',
    breaks: (body) => frames(body, 'end_frame') > 0 && frames(body, 'first_frame') === 0,
  },
  {
    problem: 'an end frame is not supported with more than two images',
    breaks: (body) => frames(body, 'end_frame') > 0 && asArray(body['image_list']).length > 2,
  },
  {
    problem: 'frames are not supported when a video is edited',
    breaks: (body) => isBaseEdit(body) && frames(body, 'first_frame') + frames(body, 'end_frame') > 0,
  },
  {
    problem: 'there are too many images and elements',
    breaks: (body) => referencesOf(body) > (hasVideo(body) ? 4 : 7),
  },
  {
    problem: 'multi_shot is not supported by the model',
    breaks: ({ multi_shot }, model) => multi_shot === true && !newModels.includes(model),
  },
  {
    problem: 'the durations of multi_prompt must add up to duration',
    breaks: (body) =>
      body['multi_shot'] === true &&
      asArray(body['multi_prompt']).length > 0 &&
      shotSeconds(body) !== Number(durationOf(body)),
  },
  {
    problem: 'negative_prompt and cfg_scale are not supported for this kind of video',
    breaks: ({ negative_prompt, cfg_scale }, _, kind) =>
      kind === 'omni-video' && (negative_prompt !== undefined || cfg_scale !== undefined),
  },
]

const schemaId = 'vendors/vv-video.v1.json'

export const checkVideo = (kind: string, body: JsonObject): void => {
  const [problem] = getValidator(schemaId)({ kind, body })
  if (problem !== undefined) throw badParameter(`${problem.path.replace(/^body\.?/, '')} ${problem.message}`.trim())
  const model = plainVideoModel(asText(body['model_name']))
  const broken = rules.find(({ breaks }) => breaks(body, model, kind))
  if (broken !== undefined) throw badParameter(`${broken.problem} (${model}, ${modeOf(kind, body)})`)
}
