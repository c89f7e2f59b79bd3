import { asText, type JsonObject } from '../../src/encoding/json.ts'
import { sandboxLimits } from '../answers/limits.ts'

/** A stored response, and what a later one continues from. */
export interface Stored {
  readonly id: string
  readonly text: string
  readonly input: readonly JsonObject[]
  readonly output: readonly JsonObject[]
  readonly previousId: string | null
}

const sizeOf = ({ text, input }: Stored): number => text.length + JSON.stringify(input).length

/** The last responses, bounded in number and in characters. */
export class StoredResponses {
  readonly #byId = new Map<string, Stored>()
  #characters = 0

  put(stored: Stored): void {
    this.#byId.set(stored.id, stored)
    this.#characters += sizeOf(stored)
    for (const id of this.#byId.keys()) {
      if (!this.#isOverfull()) return
      this.delete(id)
    }
  }

  get(id: string): Stored | undefined {
    return this.#byId.get(id)
  }

  delete(id: string): boolean {
    const stored = this.#byId.get(id)
    if (stored === undefined) return false
    this.#characters -= sizeOf(stored)
    return this.#byId.delete(id)
  }

  conversation(id: string): readonly JsonObject[] {
    const links: Stored[] = []
    let stored = this.#byId.get(id)
    while (stored !== undefined) {
      links.push(stored)
      stored = stored.previousId === null ? undefined : this.#byId.get(stored.previousId)
    }
    return links.toReversed().flatMap(({ input, output }) => [...input, ...output])
  }

  item(id: string): JsonObject | undefined {
    for (const { output } of this.#byId.values()) {
      const found = output.find((item) => asText(item['id']) === id)
      if (found !== undefined) return found
    }
    return undefined
  }

  reset(): void {
    this.#byId.clear()
    this.#characters = 0
  }

  #isOverfull(): boolean {
    return (
      this.#byId.size > sandboxLimits.sandboxResponsesStoredMax ||
      this.#characters > sandboxLimits.sandboxResponsesStoredCharactersMax
    )
  }
}
