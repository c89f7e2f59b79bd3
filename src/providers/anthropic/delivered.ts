import type { Usage } from '../../domain/usage/usage.ts'
import { type JsonObject, objectOf, textOf } from '../../json.ts'
import { CollectedText } from '../delivered.ts'

const inputText = (input: unknown): string =>
  Object.keys(objectOf(input)).length === 0 ? '' : JSON.stringify(objectOf(input))

/** A failed search is free: its result is an object, not a list. */
export const isSearchResult = ({ type, content }: JsonObject): boolean =>
  type === 'web_search_tool_result' && Array.isArray(content)

/** What so many searches are billed as. */
export const searchCalls = (searches: number): Usage['toolCalls'] => (searches > 0 ? { web_search: searches } : {})

/** Collects what a message says, from whole blocks or from the events of a stream. */
export class DeliveredBlocks extends CollectedText {
  #searches = 0

  override get toolCalls(): Usage['toolCalls'] {
    return searchCalls(this.#searches)
  }

  /** A content block, whole or as it starts. */
  addBlock(block: JsonObject): void {
    const { text, thinking, name, input } = block
    this.say(textOf(text) + textOf(name) + inputText(input))
    this.think(textOf(thinking))
    if (isSearchResult(block)) this.#searches += 1
  }

  addText(text: string): void {
    this.say(text)
  }

  addDelta({ text, partial_json, thinking }: JsonObject): void {
    this.say(textOf(text) + textOf(partial_json))
    this.think(textOf(thinking))
  }
}
