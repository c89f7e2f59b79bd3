import { asObject, asText, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'
import type { ReplyEvent } from '../canonical/reply.ts'
import { providerLimits } from '../dialect/limits.ts'
import { toolCallIdOf } from './read-reply.ts'
import { readSignature } from './signature.ts'

interface Call {
  readonly index: unknown
  readonly place: number
  id: string
  name: string
  signature: string | null
  arguments: string
  unsaid: string
  begun: boolean
  ended: boolean
}

export class ReplyDisorder extends Error {
  readonly fault: string

  constructor(fault: string) {
    super(fault)
    this.fault = fault
  }
}

const isComplete = (call: Call): boolean => isObject(parseJson(call.arguments))

/** Pieces of calls may be interleaved: one call is passed on at once, others wait for its end. Throws ReplyDisorder. */
export class PartOrder {
  readonly #answerId: string
  readonly #calls: Call[] = []
  #open: Call | null = null
  #waiting: (Call | ReplyEvent)[] = []
  #characters = 0

  constructor(answerId: string) {
    this.#answerId = answerId
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0
  }

  add(event: ReplyEvent, characters: number): readonly ReplyEvent[] {
    if (this.#isFree()) return [...this.#close(), event]
    this.#hold(characters)
    this.#waiting.push(event)
    return []
  }

  addCall(fragment: JsonObject): readonly ReplyEvent[] {
    const existing = this.#find(fragment)
    if (existing === undefined) return this.#begin(fragment)
    this.#extend(existing, fragment)
    return existing === this.#open ? this.#pass(existing) : []
  }

  end(): readonly ReplyEvent[] {
    const events = [...this.#close()]
    for (const each of this.#waiting) {
      if ('type' in each) events.push(each)
      else events.push(...this.#pass(each), ...this.#finish(each))
    }
    this.#waiting = []
    return events
  }

  /** The arguments are checked once for each part: once a part had to wait, all later ones do. */
  #isFree(): boolean {
    return this.#open === null || (this.#waiting.length === 0 && isComplete(this.#open))
  }

  #begin(fragment: JsonObject): readonly ReplyEvent[] {
    if (this.#calls.length >= providerLimits.replyToolCallsMax) throw new ReplyDisorder('too_many_tool_calls')
    const isFree = this.#isFree()
    const closing = isFree ? this.#close() : []
    const call = this.#newCall(fragment)
    this.#extend(call, fragment)
    if (isFree) this.#open = call
    else this.#waiting.push(call)
    return isFree ? [...closing, ...this.#pass(call)] : []
  }

  #newCall({ index }: JsonObject): Call {
    const place = this.#calls.length
    const blank = { id: '', name: '', signature: null, arguments: '', unsaid: '', begun: false, ended: false }
    const call: Call = { index, place, ...blank }
    this.#calls.push(call)
    return call
  }

  /** Pieces name their call by its index; some upstreams give the index 0 to every call, or none, and another id. */
  #find({ id: named, index, function: called }: JsonObject): Call | undefined {
    const id = asText(named)
    const ofIndex = this.#calls.filter((call) => typeof index !== 'number' || call.index === index)
    const sameId = id === '' ? undefined : ofIndex.findLast((call) => call.id === id)
    const last = ofIndex.at(-1)
    if (sameId !== undefined || last === undefined) return sameId
    const isNew = typeof index !== 'number' && asText(asObject(called)['name']) !== ''
    return isNew || (id !== '' && last.id !== '') ? undefined : last
  }

  #extend(call: Call, fragment: JsonObject): void {
    const { name, arguments: given } = asObject(fragment['function'])
    const text = asText(given)
    if (call.ended && text.trim() !== '') throw new ReplyDisorder('tool_call_out_of_order')
    call.id ||= asText(fragment['id'])
    call.name ||= asText(name)
    call.signature ??= readSignature(fragment)
    this.#hold(text.length)
    call.arguments += text
    call.unsaid += text
  }

  /** Nothing of a call is passed on before its name is known. */
  #pass(call: Call): readonly ReplyEvent[] {
    if (call.name === '') return []
    const { name, signature } = call
    const id = toolCallIdOf(call.id, this.#answerId, call.place)
    const events: ReplyEvent[] = call.begun ? [] : [{ type: 'tool_call', id, name, signature }]
    if (call.unsaid !== '') events.push({ type: 'arguments', text: call.unsaid })
    call.begun = true
    call.unsaid = ''
    return events
  }

  #close(): readonly ReplyEvent[] {
    const open = this.#open
    this.#open = null
    return open === null ? [] : this.#finish(open)
  }

  #finish(call: Call): readonly ReplyEvent[] {
    if (!call.begun) throw new ReplyDisorder('tool_call_without_name')
    call.ended = true
    return call.arguments.trim() === '' ? [{ type: 'arguments', text: '{}' }] : []
  }

  #hold(characters: number): void {
    this.#characters += characters
    if (this.#characters > providerLimits.replyHeldCharactersMax) throw new ReplyDisorder('answer_too_large')
  }
}
