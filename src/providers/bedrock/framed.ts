import type { Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'
import { type Delivered, openInSteps, type StreamRelay, type UpstreamDialect } from '../dialect/dialect.ts'
import { EventStreamFault, EventStreamSplitter, type StreamMessage } from './event-stream.ts'

export type WriteSse = (message: StreamMessage) => string

const brokenStream = Buffer.from('event: error\ndata: {"error":"event_stream"}\n\n')

class FramedRelay implements StreamRelay {
  readonly #relay: StreamRelay
  readonly #write: WriteSse
  readonly #splitter = new EventStreamSplitter()

  constructor(relay: StreamRelay, write: WriteSse) {
    this.#relay = relay
    this.#write = write
  }

  get state(): StreamRelay['state'] {
    return this.#relay.state
  }

  get answering(): boolean {
    return this.#relay.answering
  }

  get fault(): string | null {
    return this.#relay.fault
  }

  get isFinished(): boolean {
    return this.#relay.isFinished
  }

  get contentIsOver(): boolean {
    return this.#relay.contentIsOver
  }

  get reportedUsage(): Usage | null {
    return this.#relay.reportedUsage
  }

  get delivered(): Delivered {
    return this.#relay.delivered
  }

  get failedResponse(): JsonObject | null {
    return this.#relay.failedResponse ?? null
  }

  push(bytes: Uint8Array): Uint8Array | null {
    if (this.state !== 'open') return null
    try {
      const events = this.#splitter.push(bytes).map(this.#write)
      return events.length === 0 ? null : this.#relay.push(Buffer.from(events.join('')))
    } catch (fault) {
      if (!(fault instanceof EventStreamFault)) throw fault
      return this.#relay.push(brokenStream)
    }
  }

  end(): Uint8Array | null {
    return this.#relay.end()
  }

  closing(counted: Usage | null): Uint8Array {
    return this.#relay.closing(counted)
  }
}

export const framed = (dialect: UpstreamDialect, write: WriteSse): UpstreamDialect => ({
  ...dialect,
  openRelay: (target, request) => new FramedRelay(dialect.openRelay(target, request), write),
  *openSteps(target, request) {
    return new FramedRelay(yield* openInSteps(dialect, target, request), write)
  },
})
