import type { Usage } from '../../domain/usage/usage.ts'
import { asObject, asText, type JsonObject } from '../../encoding/json.ts'
import { CollectedText } from '../dialect/delivered.ts'

const inputText = (input: unknown): string =>
  Object.keys(asObject(input)).length === 0 ? '' : JSON.stringify(asObject(input))

/** A failed search is free: its result is an object, not a list. */
export const isSearchResult = ({ type, content }: JsonObject): boolean =>
  type === 'web_search_tool_result' && Array.isArray(content)

export const countSearchCalls = (searches: number): Usage['toolCalls'] => (searches > 0 ? { web_search: searches } : {})

export class DeliveredBlocks extends CollectedText {
  #searches = 0

  override get toolCalls(): Usage['toolCalls'] {
    return countSearchCalls(this.#searches)
  }

  addBlock(block: JsonObject): void {
    const { text, thinking, name, input, data, signature } = block
    this.addAnswerText(asText(text) + asText(name) + inputText(input))
    this.addReasoningText(asText(thinking))
    if (block['type'] === 'redacted_thinking') this.addUnseen(asText(data))
    if (typeof signature === 'string' && signature !== '') this.addSignature(signature)
    if (isSearchResult(block)) this.#searches += 1
  }

  addText(text: string): void {
    this.addAnswerText(text)
  }

  addDelta({ text, partial_json, thinking, signature }: JsonObject): void {
    this.addAnswerText(asText(text) + asText(partial_json))
    this.addReasoningText(asText(thinking))
    if (typeof signature === 'string') this.addSignature(signature)
  }
}
