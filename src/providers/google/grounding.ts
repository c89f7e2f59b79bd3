import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Citation } from '../canonical/reply.ts'
import { providerLimits } from '../dialect/limits.ts'
import { groundingItemOf } from './generation.ts'
import type { GroundingUse } from './usage.ts'

type Range = NonNullable<Citation['range']>

const queriesOf = (metadata: JsonObject): readonly string[] =>
  asArray(metadata['webSearchQueries'])
    .map((query) => asText(query).trim())
    .filter((query) => query !== '')

const hasChunks = (metadata: JsonObject): boolean => asArray(metadata['groundingChunks']).length > 0

const isOfSearch = (metadata: JsonObject): boolean =>
  queriesOf(metadata).length > 0 || isObject(metadata['searchEntryPoint'])

/** Google reports UTF-8 offsets; the result is a UTF-16 one. */
const characterAt = (text: string, byte: number): number => {
  const bytes = Buffer.from(text)
  return bytes.length === text.length ? byte : bytes.subarray(0, byte).toString().length
}

const isOnlyAt = (text: string, wanted: string, start: number): boolean =>
  start >= 0 && text.indexOf(wanted, start + 1) < 0

const offsetOf = (value: unknown): number => (typeof value === 'number' && value > 0 ? Math.trunc(value) : 0)

/** A segment's range in the answer's text; its own text decides where the offset does not match it. */
const rangeOf = (text: string, segment: JsonObject): Range | null => {
  const wanted = asText(segment['text'])
  if (wanted === '') return null
  const reported = characterAt(text, offsetOf(segment['startIndex']))
  const start = text.startsWith(wanted, reported) ? reported : text.indexOf(wanted)
  return start === reported || isOnlyAt(text, wanted, start) ? { start, end: start + wanted.length } : null
}

/** Google's own addresses of searches have spaces. */
const encodeAddress = (uri: string): string =>
  uri.toWellFormed().replaceAll(/[^\x21-\x7e]|["<>\\^`{|}]/gu, encodeURIComponent)

const citationOf = (chunk: unknown, range: Range | null): readonly Citation[] => {
  const { uri, title } = asObject(asObject(chunk)['web'])
  if (asText(uri) === '') return []
  return [
    { url: encodeAddress(asText(uri)), title: asText(title) === '' ? null : asText(title), citedText: null, range },
  ]
}

const groundingCitations = (metadata: JsonObject, text: string): readonly Citation[] => {
  const chunks = asArray(metadata['groundingChunks'])
  const supports = asArray(metadata['groundingSupports']).map(asObject)
  if (supports.length === 0) return chunks.flatMap((chunk) => citationOf(chunk, null))
  return supports.flatMap((support) => {
    const range = rangeOf(text, asObject(support['segment']))
    return asArray(support['groundingChunkIndices']).flatMap((index) =>
      citationOf(typeof index === 'number' ? chunks[index] : undefined, range),
    )
  })
}

/** Of a text whose last part begins at `partStart`: null for a range before it. */
const rangeWithin = (range: Citation['range'], partStart: number): Citation['range'] =>
  range === null || range.start < partStart ? null : { start: range.start - partStart, end: range.end - partStart }

/** The text of an answer, and what the answer reports of the searches that it is based on. */
export class GroundedText implements GroundingUse {
  readonly #upstreamModel: string
  #hasSearched = false
  #hasFetched = false
  readonly #queries = new Set<string>()
  #metadata: JsonObject = {}
  /** Thinking left out, within bounds. */
  #text = ''
  /** Where in the text its last part began; null while the last part is of another kind. */
  #partStart: number | null = null

  constructor(upstreamModel: string) {
    this.#upstreamModel = upstreamModel
  }

  /** Without a search the metadata is empty, or its chunks are the addresses that URL context read: never both. */
  get isGrounded(): boolean {
    return this.#hasSearched || (hasChunks(this.#metadata) && !this.#hasFetched)
  }

  /** One for the answer, or one for each query; Google charges a repeated query once, and an empty one not at all. */
  get toolCalls(): GroundingUse['toolCalls'] {
    if (!this.isGrounded) return {}
    const item = groundingItemOf(this.#upstreamModel)
    const calls = item === 'grounded_prompt' ? 1 : this.#queries.size
    return calls === 0 ? {} : { [item]: calls }
  }

  note({ groundingMetadata: metadata, urlContextMetadata }: JsonObject): void {
    if (isObject(urlContextMetadata)) this.#hasFetched = true
    if (!isObject(metadata)) return
    if (isOfSearch(metadata)) this.#hasSearched = true
    for (const query of queriesOf(metadata)) this.#queries.add(query)
    if (hasChunks(metadata)) this.#metadata = metadata
  }

  addText(text: string): void {
    this.#partStart ??= this.#text.length
    this.#text += text.slice(0, providerLimits.deliveredCharactersMax - this.#text.length)
  }

  endPart(): void {
    this.#partStart = null
  }

  /** Only the last text part can still be cited. */
  citations(): readonly Citation[] {
    const start = this.#partStart
    if (start === null) return []
    return groundingCitations(this.#metadata, this.#text).map((citation) => ({
      ...citation,
      range: rangeWithin(citation.range, start),
    }))
  }
}
