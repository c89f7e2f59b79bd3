import type { Usage } from '../../domain/usage/usage.ts'
import type { Delivered } from './dialect.ts'
import { providerLimits } from './limits.ts'

export class CollectedText implements Delivered {
  #answer = ''
  #reasoning = ''
  #characters = 0
  #charactersBeyond = 0
  #unseenCharacters = 0
  #isThoughtSeen = false

  get texts(): readonly string[] {
    return [this.#answer]
  }

  get reasoningTexts(): readonly string[] {
    return [this.#reasoning]
  }

  get charactersBeyond(): number {
    return this.#charactersBeyond
  }

  get toolCalls(): Usage['toolCalls'] {
    return {}
  }

  get characters(): number {
    return this.#characters + this.#charactersBeyond
  }

  get unseenCharacters(): number {
    return this.#unseenCharacters
  }

  /** A signature replaces its thinking where that is not shown. */
  protected addSignature(signature: string): void {
    if (!this.#isThoughtSeen) this.#unseenCharacters += signature.length
    this.#isThoughtSeen = false
  }

  protected addUnseen(data: string): void {
    this.#unseenCharacters += data.length
  }

  protected addAnswerText(text: string): void {
    this.#answer += this.#bounded(text)
  }

  protected addReasoningText(text: string): void {
    if (text !== '') this.#isThoughtSeen = true
    this.#reasoning += this.#bounded(text)
  }

  #bounded(text: string): string {
    const kept = text.slice(0, providerLimits.deliveredCharactersMax - this.#characters)
    this.#characters += kept.length
    this.#charactersBeyond += text.length - kept.length
    return kept
  }
}
