import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Delivered } from '../dialect/dialect.ts'
import { providerLimits } from '../dialect/limits.ts'
import { audioTokensOf } from '../dialect/media.ts'

interface ItemText {
  answer: string
  reasoning: string
  unseen: number
  beyond: number
  audio: number
}

type Kind = 'answer' | 'reasoning'

const partsText = (parts: unknown): string =>
  asArray(parts)
    .map(asObject)
    .map(({ text, refusal, transcript }) => asText(text) + asText(refusal) + asText(transcript))
    .join('')

const contentText = (content: unknown): string => (typeof content === 'string' ? content : partsText(content))

export const answerTextOf = (item: JsonObject): string =>
  item['type'] === 'reasoning'
    ? ''
    : asText(item['name']) +
      asText(item['arguments']) +
      asText(item['code']) +
      contentText(item['input']) +
      contentText(item['output']) +
      contentText(item['content'])

export const reasoningTextOf = (item: JsonObject): string =>
  item['type'] === 'reasoning' ? contentText(item['summary']) + contentText(item['content']) : ''

const unseenOf = (item: JsonObject): number =>
  item['type'] === 'reasoning' && reasoningTextOf(item) === '' ? asText(item['encrypted_content']).length : 0

const audioOf = ({ content }: JsonObject): number =>
  asArray(content)
    .map(asObject)
    .filter(({ type }) => type === 'output_audio')
    .reduce((sum, { data }) => sum + asText(data).length, 0)

const audioDelta = 'response.audio.delta'

/** The text that a stream's event adds, and its kind; null where it adds none. Audio is no text. */
const deltaOf = ({ type, delta }: JsonObject): readonly [Kind, string] | null => {
  const name = asText(type)
  if (!name.endsWith('.delta') || name === audioDelta || typeof delta !== 'string') return null
  return [name.startsWith('response.reasoning') ? 'reasoning' : 'answer', delta]
}

export class DeliveredOutput implements Delivered {
  readonly #items = new Map<number, ItemText>()
  readonly #toolCalls: () => Delivered['toolCalls']
  #characters = 0
  /** Of deltas, which name no item. */
  #audioCharacters = 0

  constructor(toolCalls: () => Delivered['toolCalls']) {
    this.#toolCalls = toolCalls
  }

  get texts(): readonly string[] {
    return [...this.#items.values()].map(({ answer }) => answer)
  }

  get reasoningTexts(): readonly string[] {
    return [...this.#items.values()].map(({ reasoning }) => reasoning)
  }

  get charactersBeyond(): number {
    return [...this.#items.values()].reduce((sum, { beyond }) => sum + beyond, 0)
  }

  get characters(): number {
    return this.#characters + this.charactersBeyond
  }

  get toolCalls(): NonNullable<Delivered['toolCalls']> {
    return this.#toolCalls() ?? {}
  }

  get unseenCharacters(): number {
    return [...this.#items.values()].reduce((sum, { unseen }) => sum + unseen, 0)
  }

  get audioTokens(): number {
    const ofItems = [...this.#items.values()].reduce((sum, { audio }) => sum + audio, 0)
    return audioTokensOf(Math.max(this.#audioCharacters, ofItems))
  }

  note(event: JsonObject): void {
    const { type, output_index: index, item, delta } = event
    const added = isObject(item) ? null : deltaOf(event)
    if (type === audioDelta) this.#audioCharacters += asText(delta).length
    else if (added !== null) this.#append(this.#itemAt(index), ...added)
    else if (isObject(item) && (type === 'response.output_item.added' || type === 'response.output_item.done'))
      this.setItem(index, item)
  }

  setItems(output: unknown): void {
    for (const [index, item] of asArray(output).entries()) if (isObject(item)) this.setItem(index, item)
  }

  /** A whole item replaces what its earlier events added. */
  setItem(index: unknown, item: JsonObject): void {
    const text = this.#itemAt(index)
    this.#characters -= text.answer.length + text.reasoning.length
    Object.assign(text, { answer: '', reasoning: '', unseen: unseenOf(item), beyond: 0, audio: audioOf(item) })
    this.#append(text, 'answer', answerTextOf(item))
    this.#append(text, 'reasoning', reasoningTextOf(item))
  }

  #append(text: ItemText, kind: Kind, added: string): void {
    const kept = added.slice(0, providerLimits.deliveredCharactersMax - this.#characters)
    text[kind] += kept
    text.beyond += added.length - kept.length
    this.#characters += kept.length
  }

  #itemAt(index: unknown): ItemText {
    const place = typeof index === 'number' ? Math.min(index, providerLimits.upstreamOutputItemsMax - 1) : 0
    const existing = this.#items.get(place)
    if (existing !== undefined) return existing
    const text = { answer: '', reasoning: '', unseen: 0, beyond: 0, audio: 0 }
    if (this.#items.size < providerLimits.upstreamOutputItemsMax) this.#items.set(place, text)
    return text
  }
}
