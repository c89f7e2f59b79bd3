import { asObject, asText, type JsonObject } from '../../encoding/json.ts'

/** The types a message may end with. After thinking, a search or a run of code more content follows. */
const lastTypes: readonly string[] = ['text', 'tool_use']

export class StreamedBlocks {
  #lastType = ''
  #areOver = false

  /** The last one has ended, and may be the message's last: its end comes at once, or another block. */
  get areOver(): boolean {
    return this.#areOver
  }

  note({ type, content_block: block }: JsonObject): void {
    if (type === 'content_block_start') {
      this.#lastType = asText(asObject(block)['type'])
      this.#areOver = false
    } else if (type === 'content_block_stop') this.#areOver = lastTypes.includes(this.#lastType)
  }
}
