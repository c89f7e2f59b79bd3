import type { JsonObject } from '../../encoding/json.ts'
import type { AudioPart, ConversationPart, DocumentPart, ImagePart, TextPart } from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'
import type { Profile } from '../dialect/provider.ts'

export type ContentPart = TextPart | ImagePart | DocumentPart | AudioPart

export const isContent = (part: ConversationPart): part is ContentPart =>
  part.type === 'text' || part.type === 'image' || part.type === 'document' || part.type === 'audio'

export const textOnWire = (text: string): JsonObject => ({ type: 'text', text })

const dataUrl = ({ mediaType, base64 }: { readonly mediaType: string; readonly base64: string }): string =>
  `data:${mediaType};base64,${base64}`

const imageOnWire = ({ source, detail }: ImagePart): JsonObject => ({
  type: 'image_url',
  image_url: { url: 'url' in source ? source.url : dataUrl(source), ...(detail === null ? {} : { detail }) },
})

export const documentText = (title: string | null, text: string): string =>
  title === null || title === '' ? text : `${title}\n\n${text}`

const documentOnWire = ({ source, title }: DocumentPart, profile: Profile): JsonObject => {
  if ('text' in source) return textOnWire(documentText(title, source.text))
  if ('url' in source) throw unsupported('messages', 'with a document by its URL is not available for this model')
  if (profile !== 'openai') throw unsupported('messages', 'with a document is not available for this model')
  return { type: 'file', file: { filename: title ?? 'document.pdf', file_data: dataUrl(source) } }
}

const partOnWire = (part: ContentPart, profile: Profile): JsonObject => {
  switch (part.type) {
    case 'text':
      return textOnWire(part.text)
    case 'image':
      return imageOnWire(part)
    case 'document':
      return documentOnWire(part, profile)
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.base64, format: part.format } }
  }
}

export const partsOnWire = (parts: readonly ContentPart[], profile: Profile): readonly JsonObject[] =>
  parts.map((part) => partOnWire(part, profile))

/** A single text is written as a string, which every upstream accepts. */
export const writeContent = (parts: readonly ContentPart[], profile: Profile): string | readonly JsonObject[] => {
  const [only] = parts
  return parts.length === 1 && only?.type === 'text' ? only.text : partsOnWire(parts, profile)
}
