import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { Delivered } from '../dialect/dialect.ts'
import { providerLimits } from '../dialect/limits.ts'
import { audioTokensOf, outputImageTokens } from '../dialect/media.ts'

interface ChoiceText {
  answer: string
  reasoning: string
  finished: boolean
}

const functionText = (call: unknown): string => {
  const { name, arguments: given } = asObject(call)
  return asText(name) + asText(given)
}

const toolText = (call: unknown): string => {
  const { function: named, custom } = asObject(call)
  return functionText(named) + asText(asObject(custom)['name']) + asText(asObject(custom)['input'])
}

const answerText = (message: JsonObject): string => {
  const text = asText(message['content']) + asText(message['refusal'])
  const transcript = message['audio'] === undefined ? '' : asText(asObject(message['audio'])['transcript'])
  const called = message['function_call'] === undefined ? '' : functionText(message['function_call'])
  const tools = message['tool_calls']
  return text + transcript + called + (tools === undefined ? '' : asArray(tools).map(toolText).join(''))
}

export const reasoningText = (message: JsonObject): string =>
  asText(message['reasoning_content'] ?? message['reasoning'])

export class DeliveredText implements Delivered {
  readonly #choices = new Map<number, ChoiceText>()
  #characters = 0
  #audioCharacters = 0
  #images = 0
  charactersBeyond = 0

  get texts(): readonly string[] {
    return [...this.#choices.values()].map(({ answer }) => answer)
  }

  get reasoningTexts(): readonly string[] {
    return [...this.#choices.values()].map(({ reasoning }) => reasoning)
  }

  get audioTokens(): number {
    return audioTokensOf(this.#audioCharacters)
  }

  get imageTokens(): number {
    return this.#images * outputImageTokens
  }

  get characters(): number {
    return this.#characters + this.charactersBeyond
  }

  /** How many answers have a finish reason; -1 while one that began has none. */
  get finishedChoices(): number {
    let finished = 0
    for (const choice of this.#choices.values()) {
      if (!choice.finished) return -1
      finished += 1
    }
    return finished
  }

  add(choices: readonly unknown[], member: 'delta' | 'message'): void {
    for (const choice of choices) if (isObject(choice)) this.#addChoice(choice, asObject(choice[member]))
  }

  #addChoice(choice: JsonObject, message: JsonObject): void {
    const text = this.#textOf(choice['index'])
    text.answer += this.#bounded(answerText(message))
    text.reasoning += this.#bounded(reasoningText(message))
    if (message['audio'] !== undefined) this.#audioCharacters += asText(asObject(message['audio'])['data']).length
    if (message['images'] !== undefined) this.#images += asArray(message['images']).length
    if (typeof choice['finish_reason'] === 'string') text.finished = true
  }

  #textOf(index: unknown): ChoiceText {
    const place = typeof index === 'number' ? Math.min(index, providerLimits.upstreamChoicesMax - 1) : 0
    const existing = this.#choices.get(place)
    if (existing !== undefined) return existing
    const text = { answer: '', reasoning: '', finished: false }
    if (this.#choices.size < providerLimits.upstreamChoicesMax) this.#choices.set(place, text)
    return text
  }

  #bounded(text: string): string {
    const kept = text.slice(0, providerLimits.deliveredCharactersMax - this.#characters)
    this.#characters += kept.length
    this.charactersBeyond += text.length - kept.length
    return kept
  }
}
