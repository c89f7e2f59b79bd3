import type { Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'
import { jsonPieces } from '../../encoding/write-json.ts'
import type { ReplyWriter, Served } from '../canonical/format.ts'
import {
  eventsOfParts,
  isRefusalPart,
  openaiStop,
  type Reply,
  type ReplyEvent,
  type StopReason,
} from '../canonical/reply.ts'
import { providerLimits } from '../dialect/limits.ts'
import { countWebSearches } from '../dialect/reported-usage.ts'
import { sseEvent } from '../dialect/sse-event.ts'
import { type CalledTool, calledTools } from './declared-tools.ts'
import {
  CallItem,
  type ItemPlace,
  type ItemStatus,
  MessageItem,
  type OpenItem,
  ReasoningItem,
  RefusalItem,
  SearchItem,
} from './output-items.ts'
import { begunResponse } from './response.ts'
import { type SealedReasoning, sealReasoning } from './sealed-reasoning.ts'
import { withUsage } from './usage.ts'

type Events = readonly JsonObject[]

/** Turns an answer into the items of a response, and into the events of its stream; these are not numbered yet. */
class OutputWriter {
  readonly items: JsonObject[] = []
  readonly #served: Served
  readonly #tools: ReadonlyMap<string, CalledTool>
  #open: OpenItem | null = null
  #searches = 0
  #seenCalls: Usage['toolCalls'] = {}

  constructor(served: Served, tools: ReadonlyMap<string, CalledTool>) {
    this.#served = served
    this.#tools = tools
  }

  write(event: ReplyEvent): Events {
    switch (event.type) {
      case 'text':
        if (event.text === '') return []
        return event.refusal === undefined ? this.#writeText(event.text) : this.#writeRefusal(event.text)
      case 'citation':
        if (this.#open instanceof MessageItem) this.#open.cite(event.citation)
        return []
      case 'thinking':
        return event.text === '' ? [] : this.#writeThinking(event.text)
      case 'signature':
        return this.#sign(event.signature)
      case 'redacted_thinking':
        return this.#writeSealed({ type: 'redacted_thinking', data: event.data })
      case 'tool_call':
        return this.#writeCall(event)
      case 'arguments':
        return this.#open instanceof CallItem ? this.#open.add(event.text) : []
      case 'stop':
        return [
          ...this.end(event.reason === 'length' || event.reason === 'filtered' ? 'incomplete' : 'completed'),
          ...this.addSearches(this.#seenCalls),
        ]
      case 'built_in_calls':
        this.#seenCalls = event.toolCalls
        return this.#open === null ? this.addSearches(event.toolCalls) : []
      case 'start':
      case 'usage':
      case 'media':
        return []
    }
  }

  /** Ends the item that is open. */
  end(status: ItemStatus): Events {
    if (this.#open === null) return []
    const { events, item } = this.#open.end(status)
    this.#open = null
    this.items.push(item)
    return events
  }

  /** `toolCalls`: all that are known so far. */
  addSearches(toolCalls: Usage['toolCalls']): Events {
    const total = Math.min(countWebSearches(toolCalls), providerLimits.upstreamOutputItemsMax)
    const events: JsonObject[] = []
    for (; this.#searches < total; this.#searches += 1) {
      events.push(...this.end('completed'), ...this.#enter(new SearchItem(this.#place('ws'))), ...this.end('completed'))
    }
    return events
  }

  #place(prefix: string): ItemPlace {
    const index = this.items.length
    return { item_id: `${prefix}_${this.#served.requestId.replaceAll('-', '')}${index}`, output_index: index }
  }

  #begin<Item extends OpenItem>(make: () => Item): readonly [Item, Events] {
    const before = [...this.end('completed'), ...this.addSearches(this.#seenCalls)]
    const item = make()
    return [item, [...before, ...this.#enter(item)]]
  }

  #enter(item: OpenItem): Events {
    this.#open = item
    return item.begin()
  }

  #writeText(text: string): Events {
    if (this.#open instanceof MessageItem) return [this.#open.add(text)]
    const [message, begun] = this.#begin(() => new MessageItem(this.#place('msg')))
    return [...begun, message.add(text)]
  }

  #writeRefusal(text: string): Events {
    if (this.#open instanceof RefusalItem) return [this.#open.add(text)]
    const [refusal, begun] = this.#begin(() => new RefusalItem(this.#place('msg')))
    return [...begun, refusal.add(text)]
  }

  #writeThinking(text: string): Events {
    if (this.#open instanceof ReasoningItem) return this.#open.add(text)
    const [reasoning, begun] = this.#begin(() => new ReasoningItem(this.#place('rs')))
    return [...begun, ...reasoning.add(text)]
  }

  #sign(signature: string): Events {
    const text = this.#open instanceof ReasoningItem ? this.#open.text : ''
    return this.#writeSealed({ type: 'thinking', text, signature })
  }

  /** Within the open item of reasoning, or in one of its own. */
  #writeSealed(sealed: SealedReasoning): Events {
    const isOpen = this.#open instanceof ReasoningItem && sealed.type !== 'redacted_thinking'
    const [reasoning, begun] = isOpen
      ? ([this.#open as ReasoningItem, []] as const)
      : this.#begin(() => new ReasoningItem(this.#place('rs')))
    reasoning.seal(sealReasoning(this.#served.provider, sealed))
    return [...begun, ...this.end('completed')]
  }

  #writeCall(call: Extract<ReplyEvent, { type: 'tool_call' }>): Events {
    const { id: callId, name, signature } = call
    const signed = signature === null ? [] : this.#writeSealed({ type: 'call_signature', callId, signature })
    const tool = this.#tools.get(name)
    const prefix = tool?.kind === 'custom' ? 'ctc' : 'fc'
    const [, begun] = this.#begin(() => new CallItem(this.#place(prefix), call, tool))
    return [...signed, ...begun]
  }
}

const incompleteReasons: { readonly [S in StopReason]?: string } = {
  length: 'max_output_tokens',
  filtered: 'content_filter',
}

const endingOf = (
  output: readonly JsonObject[],
  { stop, usage, served }: { readonly stop: StopReason; readonly usage: Usage; readonly served: Served },
) => {
  const reason = incompleteReasons[stop]
  const end =
    reason === undefined
      ? { status: 'completed', completed_at: served.nowSeconds() }
      : { status: 'incomplete', incomplete_details: { reason } }
  return withUsage({ ...end, output }, usage)
}

export const writeResponsesReply = (
  { parts, stop, usage }: Reply & { readonly usage: Usage },
  served: Served,
  body: JsonObject,
): JsonObject => {
  const writer = new OutputWriter(served, calledTools(body))
  writer.addSearches(usage.toolCalls)
  for (const event of eventsOfParts(parts)) writer.write(event)
  const reason = openaiStop(stop, parts.some(isRefusalPart))
  writer.write({ type: 'stop', reason, stopSequence: null })
  return { ...begunResponse(served, body), ...endingOf(writer.items, { stop: reason, usage, served }) }
}

const differing = ['completed_at', 'incomplete_details', 'output', 'usage'] as const

type Differing = (typeof differing)[number]

const isDiffering = (name: string): name is Differing => differing.some((each) => each === name)

type Piece = string | Uint8Array

/** Without the braces; in steps, which encode all but the last of several pieces. */
function* writeMembers(members: JsonObject): Generator<void, readonly Piece[]> {
  const encoded: Uint8Array[] = []
  let text = ''
  for (const piece of jsonPieces(members)) {
    if (text !== '') {
      encoded.push(Buffer.from(encoded.length === 0 ? text.slice(1) : text))
      yield
    }
    text = piece
  }
  return encoded.length === 0 ? [text.slice(1, -1)] : [...encoded, text.slice(0, -1)]
}

const encodePieces = (pieces: readonly Piece[]): readonly Uint8Array[] => {
  const encoded: Uint8Array[] = []
  let text = ''
  for (const piece of pieces)
    if (typeof piece === 'string') text += piece
    else {
      encoded.push(Buffer.from(text), piece)
      text = ''
    }
  return [...encoded, Buffer.from(text)]
}

/** The JSON of the response that three events of a stream repeat: the tools in it, which may have megabytes, are written once. */
class RepeatedResponse {
  readonly #same: readonly (readonly Piece[])[]
  readonly #begun: { readonly [D in Differing]?: unknown }

  private constructor(same: readonly (readonly Piece[])[], begun: { readonly [D in Differing]?: unknown }) {
    this.#same = same
    this.#begun = begun
  }

  static *write(response: JsonObject): Generator<void, RepeatedResponse> {
    const same: (readonly Piece[])[] = []
    const begun: { [D in Differing]?: unknown } = {}
    let members: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(response)) {
      if (!isDiffering(name)) members[name] = value
      else {
        same.push(yield* writeMembers(members))
        begun[name] = value
        members = {}
      }
    }
    return new RepeatedResponse([...same, yield* writeMembers(members)], begun)
  }

  with({ status, ...given }: { readonly status: string } & { readonly [D in Differing]?: unknown }): readonly Piece[] {
    const [first = [], ...others] = this.#same
    const pieces: Piece[] = ['{', ...first]
    for (const [place, same] of others.entries()) {
      const name = differing[place]!
      pieces.push(`,"${name}":${JSON.stringify(name in given ? given[name] : this.#begun[name])},`, ...same)
    }
    pieces.push(`,"status":"${status}"}`)
    return pieces
  }
}

export class ResponsesReplyWriter implements ReplyWriter {
  readonly #served: Served
  readonly #response: RepeatedResponse
  readonly #output: OutputWriter
  #sequence = 0
  #stop: StopReason = 'end'
  #hasRefused = false

  private constructor(served: Served, response: RepeatedResponse, tools: ReadonlyMap<string, CalledTool>) {
    this.#served = served
    this.#response = response
    this.#output = new OutputWriter(served, tools)
  }

  static *open(served: Served, body: JsonObject): Generator<void, ResponsesReplyWriter> {
    const tools = calledTools(body)
    yield
    return new ResponsesReplyWriter(served, yield* RepeatedResponse.write(begunResponse(served, body)), tools)
  }

  begin(): readonly Uint8Array[] {
    const begun = { status: 'in_progress' }
    return encodePieces([
      ...this.#responseEvent('response.created', begun),
      ...this.#responseEvent('response.in_progress', begun),
    ])
  }

  write(event: ReplyEvent): string {
    if (event.type === 'text' && event.refusal === true) this.#hasRefused = true
    if (event.type !== 'stop') return this.#numbered(this.#output.write(event))
    this.#stop = openaiStop(event.reason, this.#hasRefused)
    return this.#numbered(this.#output.write({ ...event, reason: this.#stop }))
  }

  close(usage: Usage): readonly Uint8Array[] {
    const last = this.#numbered([...this.#output.end('completed'), ...this.#output.addSearches(usage.toolCalls)])
    const ending = endingOf(this.#output.items, { stop: this.#stop, usage, served: this.#served })
    return encodePieces([last, ...this.#responseEvent(`response.${ending.status}`, ending)])
  }

  #responseEvent(type: string, differing: Parameters<RepeatedResponse['with']>[0]): readonly Piece[] {
    const numbered = `"type":"${type}","sequence_number":${this.#sequence++}`
    return [`event: ${type}\ndata: {${numbered},"response":`, ...this.#response.with(differing), '}\n\n']
  }

  #numbered(events: readonly JsonObject[]): string {
    return events
      .map((event) => sseEvent({ type: event['type'], sequence_number: this.#sequence++, ...event }))
      .join('')
  }
}
