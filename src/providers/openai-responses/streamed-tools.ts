import { asArray, asObject, asText, type JsonObject } from '../../encoding/json.ts'
import { providerLimits } from '../dialect/limits.ts'
import { isBilledType, itemTypeOf, type ToolCalls, ToolTally } from './tool-calls.ts'

type ItemKey = number | string

/** `response.web_search_call.completed`, `response.code_interpreter_call_code.delta` */
const toolEvent = /^response\.(\w+_call)(?:_code)?\.(\w+)$/

const itemKeyOf = ({ output_index: index, item_id, item }: JsonObject): ItemKey =>
  typeof index === 'number' ? index : asText(item_id ?? asObject(item)['id'])

const sketchOf = ({ type, name, id, container_id, action, quality, size }: JsonObject): JsonObject => ({
  type,
  name,
  id,
  container_id,
  quality,
  size,
  ...(action === undefined ? {} : { action: { type: asObject(action)['type'] } }),
})

/** A stream may break off anywhere: a container is charged from its first event, a search or an image once complete. */
export class StreamedTools {
  #whole: ToolTally
  readonly #open = new Map<ItemKey, JsonObject>()
  readonly #ended = new Set<ItemKey>()

  constructor(body: JsonObject) {
    this.#whole = ToolTally.of(body)
  }

  get calls(): ToolCalls {
    const tally = this.#whole.copy()
    const open = [...this.#open.values()]
    for (const item of open) if (item['container_id']) tally.addOpen(item)
    for (const item of open) if (!item['container_id']) tally.addOpen(item)
    return tally.calls
  }

  note(event: JsonObject): void {
    const type = asText(event['type'])
    if (type === 'response.output_item.added') this.#begin(event)
    else if (type === 'response.output_item.done') this.#end(event)
    else if (type.includes('_call')) this.#noteToolEvent(event, type)
  }

  /** The last event repeats the items; some upstreams leave that out. */
  conclude({ output, tool_usage: toolUsage }: JsonObject): void {
    const repeated = asArray(output)
    if (repeated.length > 0) this.#replace(repeated)
    this.#whole.addUsage(toolUsage)
  }

  #begin(event: JsonObject): void {
    const item = asObject(event['item'])
    const key = itemKeyOf(event)
    if (isBilledType(itemTypeOf(item)) && !this.#ended.has(key)) this.#keep(key, sketchOf(item))
  }

  #end(event: JsonObject): void {
    const item = asObject(event['item'])
    const key = itemKeyOf(event)
    this.#open.delete(key)
    if (isBilledType(itemTypeOf(item)) && this.#ended.size < providerLimits.upstreamOutputItemsMax) this.#ended.add(key)
    this.#whole.add(item)
  }

  #noteToolEvent(event: JsonObject, type: string): void {
    const [, itemType = '', phase] = toolEvent.exec(type) ?? []
    const key = itemKeyOf(event)
    if (!isBilledType(itemType) || this.#ended.has(key)) return
    const item = this.#open.get(key) ?? { type: itemType, id: event['item_id'] }
    this.#keep(key, phase === 'completed' ? { ...item, status: 'completed' } : item)
  }

  #keep(key: ItemKey, item: JsonObject): void {
    if (this.#open.has(key) || this.#open.size < providerLimits.upstreamOutputItemsMax) this.#open.set(key, item)
  }

  #replace(items: readonly unknown[]): void {
    this.#open.clear()
    this.#whole = this.#whole.emptied()
    for (const item of items) this.#whole.add(item)
  }
}
