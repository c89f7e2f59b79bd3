import type { PromptTokens } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'

/** The most that Claude bills for an image; most models bill less. */
const promptImageTokens = 1_600
/** Base64 of 50 ms at 24 kHz and 16 bits, one token by OpenAI's count; formats other than a stream's are smaller. */
const audioCharactersPerToken = 3_200
/** As Google publishes of its own, up to 1024 pixels. */
export const outputImageTokens = 1_290

export type MediaKind = 'image' | 'audio' | 'document'

export interface MediaPart {
  readonly kind: MediaKind
  /** Of base64; 0 where it is not in the request. */
  readonly characters: number
}

export const mediaKindOf = (mimeType: string): MediaKind | null => {
  if (mimeType.startsWith('image/')) return 'image'
  if (mimeType.startsWith('audio/')) return 'audio'
  return mimeType.startsWith('text/') ? null : 'document'
}

export const audioTokensOf = (characters: number): number => Math.ceil(characters / audioCharactersPerToken)

/** Without documents: how many tokens they have is not known here. */
export const withMedia = (textTokens: number, media: Iterable<MediaPart | null>): PromptTokens => {
  let image = 0
  let audioCharacters = 0
  for (const part of media)
    if (part?.kind === 'image') image += promptImageTokens
    else if (part?.kind === 'audio') audioCharacters += part.characters
  const audio = audioTokensOf(audioCharacters)
  return { total: textTokens + image + audio, image, audio }
}

const kindsByType: ReadonlyMap<unknown, MediaKind> = new Map<unknown, MediaKind>([
  ['image', 'image'],
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['computer_screenshot', 'image'],
  ['image_generation_call', 'image'],
  ['input_audio', 'audio'],
  ['audio_url', 'audio'],
  ['video_url', 'document'],
  ['input_video', 'document'],
  ['document_url', 'document'],
  ['file', 'document'],
  ['input_file', 'document'],
  ['document', 'document'],
  ['container_upload', 'document'],
])

/** A document of text, or of blocks, counts as they do. */
const textSources: readonly unknown[] = ['text', 'content']

const mediaOfPart = (part: JsonObject): MediaPart | null => {
  const { type, source, input_audio: audio, inlineData, fileData } = part
  const blob = inlineData ?? fileData
  if (isObject(blob)) {
    const kind = mediaKindOf(asText(blob['mimeType']).toLowerCase())
    return kind === null ? null : { kind, characters: asText(blob['data']).length }
  }
  const kind = kindsByType.get(type)
  if (kind === undefined || (type === 'document' && textSources.includes(asObject(source)['type']))) return null
  return { kind, characters: asText(asObject(audio)['data']).length }
}

const promptMembers = ['system', 'systemInstruction', 'messages', 'input', 'contents']

const membersOf = ({ content, output, parts, source, functionResponse }: JsonObject): readonly unknown[] => [
  content,
  output,
  parts,
  asObject(source)['content'],
  asObject(functionResponse)['parts'],
]

/** In the format of any surface; null for each object that is no media, so that a reader may rest. */
export function* promptMedia(body: JsonObject): Generator<MediaPart | null> {
  const open: unknown[] = promptMembers.map((name) => body[name])
  while (open.length > 0) {
    const value = open.pop()
    if (isObject(value)) {
      yield mediaOfPart(value)
      open.push(...membersOf(value))
    } else for (const each of asArray(value)) open.push(each)
  }
}
