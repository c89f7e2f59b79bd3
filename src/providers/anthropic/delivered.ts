import type { Usage } from '../../domain/usage/usage.ts'
import { type JsonObject, objectOf, textOf } from '../../json.ts'
import { limits } from '../../limits.ts'
import type { Delivered } from '../dialect.ts'

const inputText = (input: unknown): string =>
  Object.keys(objectOf(input)).length === 0 ? '' : JSON.stringify(objectOf(input))

/** A failed search is free: its result is an object, not a list. */
const isSearchResult = ({ type, content }: JsonObject): boolean =>
  type === 'web_search_tool_result' && Array.isArray(content)

/** Collects what a message says, from whole blocks or from the events of a stream. Memory is bounded. */
export class DeliveredBlocks implements Delivered {
  #answer = ''
  #reasoning = ''
  #characters = 0
  #searches = 0
  charactersBeyond = 0

  get texts(): readonly string[] {
    return [this.#answer]
  }

  get reasoningTexts(): readonly string[] {
    return [this.#reasoning]
  }

  get toolCalls(): Usage['toolCalls'] {
    return this.#searches > 0 ? { web_search: this.#searches } : {}
  }

  get isEmpty(): boolean {
    return this.#characters === 0
  }

  /** A content block, whole or as it starts. */
  addBlock(block: JsonObject): void {
    const { text, thinking, name, input } = block
    this.#answer += this.#bounded(textOf(text) + textOf(name) + inputText(input))
    this.#reasoning += this.#bounded(textOf(thinking))
    if (isSearchResult(block)) this.#searches += 1
  }

  addDelta({ text, partial_json, thinking }: JsonObject): void {
    this.#answer += this.#bounded(textOf(text) + textOf(partial_json))
    this.#reasoning += this.#bounded(textOf(thinking))
  }

  #bounded(text: string): string {
    const kept = text.slice(0, limits.deliveredCharactersMax - this.#characters)
    this.#characters += kept.length
    this.charactersBeyond += text.length - kept.length
    return kept
  }
}
