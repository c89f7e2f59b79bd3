import { isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import type { Citation, ReplyEvent } from '../canonical/reply.ts'
import { providerLimits } from '../dialect/limits.ts'
import type { CalledTool } from './declared-tools.ts'

export type ItemStatus = 'completed' | 'incomplete'

/** An item of the output while it is written: the events of a stream, and in the end the item itself. */
export interface OpenItem {
  begin(): readonly JsonObject[]
  end(status: ItemStatus): { readonly events: readonly JsonObject[]; readonly item: JsonObject }
}

export interface ItemPlace {
  readonly item_id: string
  readonly output_index: number
}

const itemAdded = ({ output_index }: ItemPlace, item: JsonObject): JsonObject => ({
  type: 'response.output_item.added',
  output_index,
  item,
})

const itemDone = ({ output_index }: ItemPlace, item: JsonObject): JsonObject => ({
  type: 'response.output_item.done',
  output_index,
  item,
})

/** A citation without a range covers the whole text. */
const annotationOf = ({ url, title, range }: Citation, length: number): JsonObject => ({
  type: 'url_citation',
  url,
  title: title ?? url,
  start_index: range?.start ?? 0,
  end_index: range?.end ?? length,
})

/** Of the one content part that a message has. */
const inPart = (place: ItemPlace, type: string, more: JsonObject): JsonObject => ({
  type,
  ...place,
  content_index: 0,
  ...more,
})

const messageWith = ({ item_id: id }: ItemPlace, status: string, content: readonly JsonObject[]): JsonObject => ({
  type: 'message',
  id,
  status,
  role: 'assistant',
  content,
})

export class MessageItem implements OpenItem {
  readonly #place: ItemPlace
  readonly #citations: Citation[] = []
  #text = ''

  constructor(place: ItemPlace) {
    this.#place = place
  }

  begin(): readonly JsonObject[] {
    return [
      itemAdded(this.#place, messageWith(this.#place, 'in_progress', [])),
      inPart(this.#place, 'response.content_part.added', { part: this.#partWith('', []) }),
    ]
  }

  add(text: string): JsonObject {
    this.#text += text
    return inPart(this.#place, 'response.output_text.delta', { delta: text, logprobs: [] })
  }

  cite(citation: Citation): void {
    if (this.#citations.length < providerLimits.replyCitationsMax) this.#citations.push(citation)
  }

  end(status: ItemStatus): ReturnType<OpenItem['end']> {
    const text = this.#text
    const annotations = this.#citations.map((citation) => annotationOf(citation, text.length))
    const part = this.#partWith(text, annotations)
    const item = messageWith(this.#place, status, [part])
    const added = annotations.map((annotation, annotation_index) =>
      inPart(this.#place, 'response.output_text.annotation.added', { annotation_index, annotation }),
    )
    return {
      item,
      events: [
        ...added,
        inPart(this.#place, 'response.output_text.done', { text, logprobs: [] }),
        inPart(this.#place, 'response.content_part.done', { part }),
        itemDone(this.#place, item),
      ],
    }
  }

  #partWith(text: string, annotations: readonly JsonObject[]): JsonObject {
    return { type: 'output_text', text, annotations, logprobs: [] }
  }
}

export class RefusalItem implements OpenItem {
  readonly #place: ItemPlace
  #text = ''

  constructor(place: ItemPlace) {
    this.#place = place
  }

  begin(): readonly JsonObject[] {
    return [
      itemAdded(this.#place, messageWith(this.#place, 'in_progress', [])),
      inPart(this.#place, 'response.content_part.added', { part: this.#part() }),
    ]
  }

  add(text: string): JsonObject {
    this.#text += text
    return inPart(this.#place, 'response.refusal.delta', { delta: text })
  }

  end(status: ItemStatus): ReturnType<OpenItem['end']> {
    const part = this.#part()
    const item = messageWith(this.#place, status, [part])
    return {
      item,
      events: [
        inPart(this.#place, 'response.refusal.done', { refusal: this.#text }),
        inPart(this.#place, 'response.content_part.done', { part }),
        itemDone(this.#place, item),
      ],
    }
  }

  #part(): JsonObject {
    return { type: 'refusal', refusal: this.#text }
  }
}

/** A search that another provider made and counted; it does not report what was searched for with each. */
export class SearchItem implements OpenItem {
  readonly #place: ItemPlace

  constructor(place: ItemPlace) {
    this.#place = place
  }

  begin(): readonly JsonObject[] {
    return [
      itemAdded(this.#place, this.#itemWith('in_progress')),
      { type: 'response.web_search_call.in_progress', ...this.#place },
      { type: 'response.web_search_call.searching', ...this.#place },
    ]
  }

  end(): ReturnType<OpenItem['end']> {
    const item = this.#itemWith('completed')
    return {
      item,
      events: [{ type: 'response.web_search_call.completed', ...this.#place }, itemDone(this.#place, item)],
    }
  }

  #itemWith(status: string): JsonObject {
    return { type: 'web_search_call', id: this.#place.item_id, status, action: { type: 'search', query: '' } }
  }
}

export class ReasoningItem implements OpenItem {
  readonly #place: ItemPlace
  #text = ''
  #sealed: string | null = null

  constructor(place: ItemPlace) {
    this.#place = place
  }

  get text(): string {
    return this.#text
  }

  begin(): readonly JsonObject[] {
    return [itemAdded(this.#place, this.#item([]))]
  }

  add(text: string): readonly JsonObject[] {
    const begun = this.#text === '' ? [this.#inSummary('summary_part.added', { part: this.#part('') })] : []
    this.#text += text
    return [...begun, this.#inSummary('summary_text.delta', { delta: text })]
  }

  /** What the model needs back with the next turn. */
  seal(sealed: string): void {
    this.#sealed = sealed
  }

  end(): ReturnType<OpenItem['end']> {
    const text = this.#text
    const part = this.#part(text)
    const item = this.#item(text === '' ? [] : [part])
    const ended = [this.#inSummary('summary_text.done', { text }), this.#inSummary('summary_part.done', { part })]
    return { item, events: [...(text === '' ? [] : ended), itemDone(this.#place, item)] }
  }

  #inSummary(name: string, more: JsonObject): JsonObject {
    return { type: `response.reasoning_${name}`, ...this.#place, summary_index: 0, ...more }
  }

  #part(text: string): JsonObject {
    return { type: 'summary_text', text }
  }

  #item(summary: readonly JsonObject[]): JsonObject {
    const sealed = this.#sealed === null ? {} : { encrypted_content: this.#sealed }
    return { type: 'reasoning', id: this.#place.item_id, summary, ...sealed }
  }
}

type Call = Extract<ReplyEvent, { type: 'tool_call' }>

/** Models put the text of a custom tool into the one argument that it has for them. */
const customInput = (given: string): string => {
  const parsed = parseJson(given)
  return isObject(parsed) && typeof parsed['input'] === 'string' ? parsed['input'] : given
}

export class CallItem implements OpenItem {
  readonly #place: ItemPlace
  readonly #call: Call
  readonly #tool: CalledTool
  #arguments = ''

  /** `tool`: undefined where the model calls what was not declared. */
  constructor(place: ItemPlace, call: Call, tool: CalledTool | undefined) {
    this.#place = place
    this.#call = call
    this.#tool = tool ?? { kind: 'function', name: call.name, namespace: null }
  }

  begin(): readonly JsonObject[] {
    return [itemAdded(this.#place, this.#itemWith('', 'in_progress'))]
  }

  /** The text of a custom tool is known once the arguments are whole. */
  add(text: string): readonly JsonObject[] {
    this.#arguments += text
    return this.#isCustom ? [] : [this.#event('function_call_arguments.delta', { delta: text })]
  }

  end(status: ItemStatus): ReturnType<OpenItem['end']> {
    const given = this.#isCustom ? customInput(this.#arguments) : this.#arguments
    const item = this.#itemWith(given, status)
    const ended = this.#isCustom
      ? [
          this.#event('custom_tool_call_input.delta', { delta: given }),
          this.#event('custom_tool_call_input.done', { input: given }),
        ]
      : [this.#event('function_call_arguments.done', { name: this.#tool.name, arguments: given })]
    return { item, events: [...ended, itemDone(this.#place, item)] }
  }

  get #isCustom(): boolean {
    return this.#tool.kind === 'custom'
  }

  #event(name: string, more: JsonObject): JsonObject {
    return { type: `response.${name}`, ...this.#place, ...more }
  }

  #itemWith(given: string, status: string): JsonObject {
    const { name, namespace } = this.#tool
    const identity = { id: this.#place.item_id, call_id: this.#call.id, name }
    return {
      ...(this.#isCustom
        ? { type: 'custom_tool_call', ...identity, input: given }
        : { type: 'function_call', ...identity, arguments: given }),
      ...(namespace === null ? {} : { namespace }),
      status,
    }
  }
}
