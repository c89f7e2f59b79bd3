import { asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import type { AudioPart, DocumentPart, ImagePart, TextPart } from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'

export type UserPart = TextPart | ImagePart | DocumentPart | AudioPart

interface Inline {
  readonly mediaType: string
  readonly base64: string
}

/** Of a bounded length: what is behind it may have megabytes of anything. */
const dataUrlHead = /^data:([\w.+-]{1,127}\/[\w.+-]{1,127})(?:;[^,;]{1,128}){0,16};base64,/i
const details = ['auto', 'low', 'high'] as const
const audioFormats = ['wav', 'mp3'] as const

/** Null where the text is no data URL in base64. */
const inlineOf = (url: string): Inline | null => {
  const [head, mediaType] = dataUrlHead.exec(url) ?? []
  return head === undefined || mediaType === undefined
    ? null
    : { mediaType: mediaType.toLowerCase(), base64: url.slice(head.length) }
}

export const readTextPart = (text: string): TextPart => ({ type: 'text', text, cached: null })

const readImageSource = (url: string, param: string): ImagePart['source'] => {
  if (/^https?:\/\//i.test(url)) return { url }
  const inline = inlineOf(url)
  if (inline?.mediaType.startsWith('image/')) return inline
  throw invalidValue(param, 'must be an http(s) URL or an image as a data: URL in base64')
}

/** `image`: its `url`, and `detail`; `param` names the URL. */
export const readImage = (image: JsonObject, param: string): ImagePart => ({
  type: 'image',
  source: readImageSource(asText(image['url']), param),
  detail: details.find((detail) => detail === image['detail']) ?? null,
  cached: null,
})

export const readAudio = (audio: JsonObject, path: string): AudioPart => {
  const format = audioFormats.find((each) => each === audio['format'])
  if (format === undefined) throw invalidValue(`${path}.input_audio.format`, 'must be wav or mp3')
  return { type: 'audio', format, base64: asText(audio['data']) }
}

const isText = (mediaType: string): boolean => mediaType.startsWith('text/')

const documentSource = ({ mediaType, base64 }: Inline): DocumentPart['source'] =>
  isText(mediaType) ? { text: Buffer.from(base64, 'base64').toString() } : { mediaType, base64 }

/** Some clients send the bare base64 of a PDF. */
const readFileData = (data: string, filename: string): Inline | null => {
  const inline = inlineOf(data)
  if (inline !== null || data === '' || data.startsWith('data:')) return inline
  return filename.toLowerCase().endsWith('.pdf') ? { mediaType: 'application/pdf', base64: data } : null
}

/** A file id names a file in an account of the provider's, which is not the caller's. */
export const readFile = (file: JsonObject, path: string, dataPath: string): DocumentPart => {
  if (typeof file['file_id'] === 'string') throw unsupported(path, 'with a file_id is not available for this model')
  const filename = asText(file['filename'])
  const inline = readFileData(asText(file['file_data']), filename)
  if (inline === null) throw invalidValue(dataPath, 'must be a data: URL in base64')
  return { type: 'document', source: documentSource(inline), title: filename === '' ? null : filename, cached: null }
}

const readPart = (part: unknown, path: string): UserPart => {
  const { type, text, refusal, image_url, input_audio, file } = asObject(part)
  switch (type) {
    case 'text':
      return readTextPart(asText(text))
    case 'refusal':
      return readTextPart(asText(refusal))
    case 'image_url':
      return readImage(isObject(image_url) ? image_url : { url: image_url }, `${path}.image_url.url`)
    case 'input_audio':
      return readAudio(asObject(input_audio), path)
    case 'file':
      return readFile(asObject(file), path, `${path}.file.file_data`)
    default:
      throw unsupported(`${path}.type`, `'${asText(type)}' is not available for this model`)
  }
}

export const readContentParts = (content: unknown, path: string): readonly UserPart[] => {
  if (typeof content === 'string') return [readTextPart(content)]
  return Array.isArray(content) ? content.map((part, index) => readPart(part, `${path}.content[${index}]`)) : []
}

const isFilledText = (part: UserPart): part is TextPart => part.type === 'text' && part.text !== ''

/** Content that can only be text: of instructions and of answers. Empty texts are dropped. */
export const readTexts = (content: unknown, path: string): readonly TextPart[] => {
  const parts = readContentParts(content, path)
  const other = parts.findIndex((part) => part.type !== 'text')
  if (other >= 0) throw unsupported(`${path}.content[${other}]`, 'must be text in a message of this role')
  return parts.filter(isFilledText)
}
