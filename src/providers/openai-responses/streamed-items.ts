import { asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { providerLimits } from '../dialect/limits.ts'
import { itemTypeOf } from './tool-calls.ts'

/** The types an answer may end with. After thinking, a search or a run of code more content follows. */
const lastTypes: readonly string[] = [
  'message',
  'function_call',
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
  'apply_patch_call',
  'mcp_approval_request',
  'image_generation_call',
]

/** The phase `commentary` is not the final message. */
const mayBeLast = (item: JsonObject): boolean => lastTypes.includes(itemTypeOf(item)) && item['phase'] !== 'commentary'

export class StreamedItems {
  readonly #open = new Set<unknown>()
  #lastMayBeLast = false

  /** All that began have ended, and the last one may be the answer's last: its end comes at once, or another item. */
  get areOver(): boolean {
    return this.#lastMayBeLast && this.#open.size === 0
  }

  note({ type, output_index: index, item }: JsonObject): void {
    const name = asText(type)
    if (isObject(item)) this.#lastMayBeLast = mayBeLast(item)
    if (name.endsWith('.done')) this.#open.delete(index)
    else if (name.endsWith('.added') && this.#open.size < providerLimits.upstreamOutputItemsMax) this.#open.add(index)
  }
}
