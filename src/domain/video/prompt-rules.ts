import { type CheckedVideoRequest, isBlank, isLongerThan, videoRefusal } from './checked-request.ts'
import { isCustomShots, readVideoDuration, readVideoSeconds } from './defaults.ts'
import type { VideoBody } from './request.ts'

const promptCharactersMax = 2_500
const shotsMax = 6
const shotPromptCharactersMax = 512

const checkLength = (text: string | undefined, path: string, charactersMax: number): void => {
  if (text !== undefined && isLongerThan(text, charactersMax))
    throw videoRefusal('invalid_value', path, `Invalid value for '${path}': at most ${charactersMax} characters.`)
}

/** Custom shots replace the prompt. */
export const checkPrompts = ({ body, pathOf }: CheckedVideoRequest): void => {
  const path = pathOf('prompt')
  if (!isCustomShots(body)) {
    if (isBlank(body.prompt))
      throw videoRefusal('missing_required_parameter', path, `Missing required parameter: '${path}'.`)
    checkLength(body.prompt, path, promptCharactersMax)
  }
  checkLength(body.negative_prompt, pathOf('negative_prompt'), promptCharactersMax)
}

type Shot = NonNullable<VideoBody['multi_prompt']>[number]

const checkShot = ({ index, prompt, duration }: Shot, place: number, path: string): void => {
  if (index !== place)
    throw videoRefusal('invalid_value', `${path}.index`, `Invalid value for '${path}.index': must be ${place}.`)
  if (isBlank(prompt))
    throw videoRefusal('invalid_value', `${path}.prompt`, `Invalid value for '${path}.prompt': it is blank.`)
  checkLength(prompt, `${path}.prompt`, shotPromptCharactersMax)
  if (readVideoSeconds(duration) === null)
    throw videoRefusal(
      'invalid_value',
      `${path}.duration`,
      `Invalid value for '${path}.duration': whole seconds, at least 1.`,
    )
}

const checkSum = ({ body, pathOf }: CheckedVideoRequest, shots: readonly Shot[]): void => {
  const path = pathOf('multi_prompt')
  const sum = shots.reduce((seconds, { duration }) => seconds + (readVideoSeconds(duration) ?? 0), 0)
  const total = readVideoDuration(body)
  if (sum !== total)
    throw videoRefusal(
      'invalid_value',
      path,
      `The shots in '${path}' take ${sum} seconds; the video's duration is ${total}.`,
    )
}

const checkCustomShots = (asked: CheckedVideoRequest, shots: readonly Shot[]): void => {
  const path = asked.pathOf('multi_prompt')
  if (shots.length === 0)
    throw videoRefusal('missing_required_parameter', path, `Missing required parameter: '${path}'.`)
  if (shots.length > shotsMax)
    throw videoRefusal('invalid_value', path, `Invalid value for '${path}': at most ${shotsMax} shots.`)
  for (const [index, shot] of shots.entries()) checkShot(shot, index + 1, `${path}[${index}]`)
  checkSum(asked, shots)
}

/** What the vendor would ignore is refused: the caller expects another video than would be paid for. */
export const checkShots = (asked: CheckedVideoRequest): void => {
  const { body, model, modelName, pathOf } = asked
  const { multi_shot = false, multi_prompt: shots = [] } = body
  const path = pathOf('multi_shot')
  if (multi_shot && !model.multiShot)
    throw videoRefusal('unsupported_parameter', path, `\`${modelName}\` makes no videos of several shots.`)
  if (isCustomShots(body)) checkCustomShots(asked, shots)
  else if (shots.length > 0)
    throw videoRefusal(
      'invalid_parameter_combination',
      pathOf('multi_prompt'),
      `'${pathOf('multi_prompt')}' needs '${path}' to be true and '${pathOf('shot_type')}' to be \`customize\`.`,
    )
}

const placeholderPattern = /<<<(image|video|element)_([^<>]*)>>>/g

const inputsOf = ({ request, body }: CheckedVideoRequest): Readonly<Record<string, number>> =>
  request.kind === 'omni-video'
    ? {
        image: body.image_list?.length ?? 0,
        video: body.video_list?.length ?? 0,
        element: body.element_list?.length ?? 0,
      }
    : {}

const checkText = (text: string, path: string, inputs: Readonly<Record<string, number>>): void => {
  for (const [placeholder, input = '', index = ''] of text.matchAll(placeholderPattern)) {
    const count = inputs[input] ?? 0
    if (!/^[1-9][0-9]*$/.test(index) || Number(index) > count)
      throw videoRefusal(
        'invalid_value',
        path,
        `'${path}' refers to ${placeholder}, and ${count} such inputs are there.`,
      )
  }
}

/** `<<<image_1>>>` is the first of the images; only a video of several sources has any. */
export const checkPlaceholders = (asked: CheckedVideoRequest): void => {
  const { body, pathOf } = asked
  const inputs = inputsOf(asked)
  if (!isCustomShots(body)) checkText(body.prompt ?? '', pathOf('prompt'), inputs)
  else
    for (const [index, { prompt }] of (body.multi_prompt ?? []).entries())
      checkText(prompt, `${pathOf('multi_prompt')}[${index}].prompt`, inputs)
}
