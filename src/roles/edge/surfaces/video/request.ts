import type { VideoBody, VideoKind, VideoRequest } from '../../../../domain/video/request.ts'
import { asObject, isObject, type JsonObject } from '../../../../encoding/json.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { readValid } from '../../../../http/validate.ts'
import { checkJsonBody } from '../../http/request-body.ts'
import { isEmpty, type PathOf, readVideo, videoMemberNames } from '../tasks/video-request.ts'
import type { VideoGenerationRequest } from './request.types.ts'

interface ReadGeneration {
  readonly request: VideoRequest
  readonly pathOf: PathOf
}

interface Given {
  readonly name: string
  readonly path: string
  readonly value: unknown
}

const badMetadata = (what: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_value', `Invalid value for 'metadata': ${what}.`, { param: 'metadata', cause })

const parseMetadata = (text: string): unknown => {
  try {
    return checkJsonBody(Buffer.from(text))()
  } catch (cause) {
    if (cause instanceof GatewayError && cause.code === 'request_too_large') throw cause
    throw badMetadata('must be an object, or one as JSON text', cause)
  }
}

const metadataOf = ({ metadata }: VideoGenerationRequest): JsonObject => {
  if (isEmpty(metadata)) return {}
  const value = typeof metadata === 'string' ? parseMetadata(metadata) : metadata
  if (!isObject(value)) throw badMetadata('must be an object, or one as JSON text')
  return value
}

const dataUrl = /^data:image\/[\w.+-]{1,127};base64,/i

/** OpenAI's clients send an image as a data URL, which the vendor does not take. */
const referenceOf = (reference: VideoGenerationRequest['input_reference']): unknown => {
  if (typeof reference === 'string' || isEmpty(reference)) return reference
  const { image_url, file_id } = asObject(reference)
  if (!isEmpty(file_id))
    throw new GatewayError('unsupported_parameter', 'Files are not stored here: send the image, or its URL.', {
      param: 'input_reference.file_id',
    })
  return typeof image_url === 'string' ? image_url.replace(dataUrl, '') : image_url
}

const shapes = { '16:9': 16 / 9, '9:16': 9 / 16, '1:1': 1 } as const
const sizePattern = /^([1-9]\d{1,4})[x*]([1-9]\d{1,4})$/i
/** 1792x1024 is sold as 16:9. */
const shapeTolerance = 0.03

/** The resolution follows from the mode. */
const shapeOf = (size: string | null | undefined): string | undefined => {
  if (size === undefined || size === null || size === '') return undefined
  if (Object.hasOwn(shapes, size)) return size
  const [, width, height] = sizePattern.exec(size) ?? []
  const ratio = Number(width) / Number(height)
  const shape = Object.entries(shapes).find(([, each]) => Math.abs(ratio / each - 1) < shapeTolerance)
  if (shape === undefined)
    throw new GatewayError('invalid_value', "Invalid value for 'size': its shape must be 16:9, 9:16 or 1:1.", {
      param: 'size',
    })
  return shape[0]
}

const members = (from: JsonObject, prefix: string): readonly Given[] =>
  videoMemberNames.map((name) => ({ name, path: `${prefix}${name}`, value: from[name] }))

/** Later entries override earlier ones, `metadata` the top level. A model in `metadata` would be billed as another. */
const givenIn = (outer: VideoGenerationRequest): readonly Given[] =>
  [
    { name: 'model_name', path: 'model', value: outer.model },
    { name: 'image', path: 'input_reference', value: referenceOf(outer.input_reference) },
    { name: 'image', path: 'images[0]', value: outer.images?.[0] },
    { name: 'aspect_ratio', path: 'size', value: shapeOf(outer.size) },
    { name: 'duration', path: 'seconds', value: outer.seconds },
    ...members(outer, ''),
    ...members(metadataOf(outer), 'metadata.'),
  ].filter(({ value }) => !isEmpty(value))

const topLevel: ReadonlySet<string> = new Set(['model', 'prompt', 'image'])

const pathsIn = (given: readonly Given[]): PathOf => {
  const paths = new Map(given.map(({ name, path }) => [name, path]))
  return (path) => {
    const [name = ''] = path.split(/[.[]/, 1)
    const written = paths.get(name) ?? (topLevel.has(name) ? name : `metadata.${name}`)
    return written + path.slice(name.length)
  }
}

const kindOf = ({ image, image_tail, image_list, video_list, element_list }: VideoBody): VideoKind => {
  if (image_list !== undefined || video_list !== undefined) return 'omni-video'
  if (image !== undefined || image_tail !== undefined) return 'image2video'
  return element_list === undefined ? 'text2video' : 'omni-video'
}

/** Throws with the path of what is wrong. */
export const readGeneration = (value: unknown): ReadGeneration => {
  const given = givenIn(readValid<VideoGenerationRequest>('requests/video-request.v1.json', value))
  const pathOf = pathsIn(given)
  const read = readVideo(Object.fromEntries(given.map(({ name, value }) => [name, value])), pathOf)
  return { request: { kind: kindOf(read.body), ...read }, pathOf }
}
