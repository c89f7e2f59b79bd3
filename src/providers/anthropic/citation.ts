import { asObject, asText, type JsonObject } from '../../encoding/json.ts'
import type { Citation } from '../canonical/reply.ts'

/** The seal of a search result is its provider's own: another provider's citation has none. */
export const citationOnWire = ({ url, title, citedText }: Citation): JsonObject => ({
  type: 'web_search_result_location',
  url,
  title,
  cited_text: citedText ?? '',
  encrypted_index: '',
})

/** Null for a place in the caller's own documents: it has no address. */
export const readCitation = (value: unknown): Citation | null => {
  const { type, url, source, title, cited_text: citedText } = asObject(value)
  const address = type === 'search_result_location' ? asText(source) : asText(url)
  if (address === '') return null
  return {
    url: address,
    title: typeof title === 'string' ? title : null,
    citedText: typeof citedText === 'string' ? citedText : null,
    range: null,
  }
}
