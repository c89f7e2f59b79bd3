import type { Usage } from '../../domain/usage/usage.ts'
import type { StreamRelay } from '../dialect/dialect.ts'
import { EventRelay } from '../dialect/event-relay.ts'
import { providerLimits } from '../dialect/limits.ts'
import { type SseEvent, SseSplitter } from '../dialect/sse.ts'
import { DeliveredReply } from './delivered.ts'
import type { ReplyReader, ReplyWriter } from './format.ts'
import type { ReplyEvent } from './reply.ts'

/** Before the first other event another candidate may still serve. */
const isContent = ({ type }: ReplyEvent): boolean => type !== 'start' && type !== 'usage' && type !== 'built_in_calls'

export class TranslatedRelay extends EventRelay implements StreamRelay {
  readonly #reader: ReplyReader
  readonly #writer: ReplyWriter
  readonly #billed: (reported: Usage) => Usage
  protected override readonly splitter = new SseSplitter(providerLimits.translatedEventBytesMax)
  readonly delivered = new DeliveredReply()
  reportedUsage: Usage | null = null

  /** `billed` adds to a usage what the upstream charges for without reporting it. */
  constructor(reader: ReplyReader, writer: ReplyWriter, billed: (reported: Usage) => Usage) {
    super()
    this.#reader = reader
    this.#writer = writer
    this.#billed = billed
    for (const bytes of writer.begin?.() ?? []) this.keep(bytes, 0)
  }

  /** Usage that was reported at the start alone is not final. */
  get isFinished(): boolean {
    return (this.state === 'done' || this.#reader.isFinished) && this.isUsageOfAll
  }

  get servedWith(): StreamRelay['servedWith'] {
    return this.#reader.servedWith
  }

  get contentIsOver(): boolean {
    return this.#reader.contentIsOver
  }

  closing(counted: Usage | null): Uint8Array {
    const usage = counted ?? this.reportedUsage
    if (usage === null) throw new Error('a stream is closed with the usage that is billed')
    const closing = this.#writer.close(usage)
    return typeof closing === 'string' ? Buffer.from(closing) : Buffer.concat(closing)
  }

  protected override take(event: SseEvent): void {
    if (this.state !== 'open' || event.data === null) return
    const events = this.#reader.read(event)
    if ('fault' in events) this.break(events.fault)
    else this.#write(events)
    if (this.state === 'open' && this.#reader.isDone) this.conclude()
  }

  #write(events: readonly ReplyEvent[]): void {
    let text = ''
    for (const event of events) {
      this.#note(event)
      text += this.#writer.write(event)
    }
    if (text !== '') this.keep(Buffer.from(text))
  }

  #note(event: ReplyEvent): void {
    if (isContent(event)) this.answering = true
    if (event.type === 'usage' || event.type === 'start') this.#noteUsage(event.usage)
    if (event.type === 'usage') this.noteUsageReported()
    this.delivered.addEvent(event)
  }

  #noteUsage(reported: Usage | null): void {
    if (reported !== null) this.reportedUsage = this.#billed(reported)
  }

  /** Some upstreams close without a closing event: a finished answer is an end all the same. */
  protected override conclude(): void {
    if (this.answering && (this.#reader.isDone || this.#reader.isFinished)) this.state = 'done'
    else this.breakEarly()
  }
}
