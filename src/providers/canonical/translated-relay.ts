import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, parseJson } from '../../json.ts'
import { contradicts } from '../delivered.ts'
import type { Delivered, StreamRelay } from '../dialect.ts'
import { type SseEvent, SseEventTooLarge, SseSplitter } from '../sse.ts'
import { DeliveredReply } from './delivered.ts'
import type { ReplyReader, ReplyWriter } from './format.ts'
import type { ReplyEvent } from './reply.ts'

/** Before the first other event another candidate may still serve. */
const isContent = ({ type }: ReplyEvent): boolean => type !== 'start' && type !== 'usage' && type !== 'built_in_calls'

const outputTypes: readonly ReplyEvent['type'][] = ['text', 'thinking', 'redacted_thinking', 'tool_call', 'arguments']

const larger = (told: Usage['toolCalls'], seen: Usage['toolCalls']): Usage['toolCalls'] => ({
  ...told,
  ...Object.fromEntries(Object.entries(seen).map(([tool, calls]) => [tool, Math.max(calls, told[tool] ?? 0)])),
})

/** Reads a stream in the upstream's format and writes it in the client's: see StreamRelay. */
export class TranslatedRelay implements StreamRelay {
  readonly #reader: ReplyReader
  readonly #writer: ReplyWriter
  readonly #billed: (told: Usage) => Usage
  readonly #splitter = new SseSplitter()
  readonly #delivered = new DeliveredReply()
  #state: StreamRelay['state'] = 'open'
  #fault: string | null = null
  #answering = false
  #reportedUsage: Usage | null = null
  /** No output came behind it. */
  #usageIsFinal = false
  /** What may go to the client. */
  #ready = ''

  /** `billed` adds to a usage what the upstream charges for without telling. */
  constructor(reader: ReplyReader, writer: ReplyWriter, billed: (told: Usage) => Usage) {
    this.#reader = reader
    this.#writer = writer
    this.#billed = billed
  }

  get state(): StreamRelay['state'] {
    return this.#state
  }

  get fault(): string | null {
    return this.#fault
  }

  get answering(): boolean {
    return this.#answering
  }

  /** Usage that was told at the start, or before more came, is none of the end: the output is counted then. */
  get isFinished(): boolean {
    const told = this.#reportedUsage
    const isOver = this.#state === 'done' || this.#reader.isFinished
    return isOver && (told === null || (this.#usageIsFinal && !contradicts(told, this.#delivered)))
  }

  /** Before the end the figures so far, with the built-in calls that were seen. */
  get reportedUsage(): Usage | null {
    const told = this.#reportedUsage
    if (told === null || this.isFinished) return told
    return { ...told, toolCalls: larger(told.toolCalls, this.#delivered.toolCalls) }
  }

  get delivered(): Delivered {
    return this.#delivered
  }

  push(bytes: Uint8Array): Uint8Array | null {
    if (this.#state !== 'open') return null
    try {
      for (const event of this.#splitter.push(bytes)) this.#take(event)
    } catch (fault) {
      if (!(fault instanceof SseEventTooLarge)) throw fault
      this.#break('event_too_large')
    }
    return this.#release()
  }

  end(): Uint8Array | null {
    if (this.#state !== 'open') return null
    const last = this.#splitter.end()
    if (last !== null && isObject(parseJson(last.data ?? ''))) this.#take(last)
    if (this.#state === 'open') this.#conclude()
    return this.#release()
  }

  closing(counted: Usage | null): Uint8Array {
    const usage = counted ?? this.reportedUsage
    if (usage === null) throw new Error('a stream is closed with the usage that is billed')
    return Buffer.from(this.#writer.close(usage))
  }

  #release(): Uint8Array | null {
    if (!this.#answering || this.#ready === '') return null
    const bytes = Buffer.from(this.#ready)
    this.#ready = ''
    return bytes
  }

  #take(event: SseEvent): void {
    if (this.#state !== 'open' || event.data === null) return
    const said = this.#reader.read(event)
    if ('fault' in said) this.#break(said.fault)
    else for (const each of said) this.#write(each)
    if (this.#state === 'open' && this.#reader.isDone) this.#conclude()
  }

  #write(event: ReplyEvent): void {
    if (isContent(event)) this.#answering = true
    if (event.type === 'usage' || event.type === 'start') this.#note(event.usage)
    if (event.type === 'usage') this.#usageIsFinal = true
    else if (outputTypes.includes(event.type)) this.#usageIsFinal = false
    this.#delivered.addEvent(event)
    this.#ready += this.#writer.write(event)
  }

  #note(told: Usage | null): void {
    if (told !== null) this.#reportedUsage = this.#billed(told)
  }

  /** Some upstreams close without a closing event: a finished answer is an end all the same. */
  #conclude(): void {
    if (this.#answering && (this.#reader.isDone || this.#reader.isFinished)) this.#state = 'done'
    else this.#break(this.#answering ? 'ended_early' : 'empty_answer')
  }

  #break(fault: string): void {
    this.#state = 'broken'
    this.#fault = fault
  }
}
