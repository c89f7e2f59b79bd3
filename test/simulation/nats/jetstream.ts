import type { VirtualTime } from '../virtual-time.ts'
import { type ConsumerSettings, type Deliver, SimConsumer } from './consumer.ts'
import { type ApiError, type DuplicateRule, SimStream, type StoredMessage } from './stream.ts'

export interface JetStreamParts {
  readonly time: VirtualTime
  readonly rule: DuplicateRule
  readonly duplicateWindowMs?: number | undefined
  readonly deliver: Deliver
}

const notFound = (err_code: number, description: string): { readonly error: ApiError } => ({
  error: { code: 404, err_code, description },
})
const noStream = notFound(10059, 'stream not found')
const noConsumer = notFound(10014, 'consumer not found')
const noMessage = notFound(10037, 'no message found')

const notDeleted = (description: string): { readonly error: ApiError } => ({
  error: { code: 500, err_code: 10057, description },
})

type Body = Readonly<Record<string, unknown>>

const storedText = ({ sequence, subject, headers, data, storedMs }: StoredMessage): object => ({
  message: {
    subject,
    seq: sequence,
    ...(headers === '' ? {} : { hdrs: Buffer.from(headers, 'latin1').toString('base64') }),
    data: data.toString('base64'),
    time: new Date(storedMs).toISOString(),
  },
})

/** Streams, their consumers, and the requests about them. */
export class SimJetStream {
  readonly streams = new Map<string, SimStream>()
  /** By the names of their stream and their own. */
  readonly consumers = new Map<string, SimConsumer>()
  readonly #parts: JetStreamParts
  #names = 0

  constructor(parts: JetStreamParts) {
    this.#parts = parts
  }

  /** The body of what it responds to a request. */
  answer(noun: string | undefined, verb: string | undefined, rest: readonly string[], text: string): object {
    const body = JSON.parse(text) as Body
    return noun === 'STREAM' ? this.#serveStream(verb, rest, body) : this.#serveConsumer(verb, rest, body)
  }

  #serveStream(verb: string | undefined, rest: readonly string[], body: Body): object {
    const name = verb === 'MSG' ? rest[1]! : rest[0]!
    const stream = this.streams.get(name)
    if (verb === 'CREATE') return this.#createStream(name, body)
    if (stream === undefined) return noStream
    switch (verb) {
      case 'INFO':
        return this.#describe(stream, body)
      case 'PURGE':
        return this.#purge(stream, String(body['filter']))
      case 'MSG':
        return rest[0] === 'DELETE' ? this.#remove(stream, Number(body['seq'])) : this.#find(stream, body)
      default:
        throw new Error(`a stream cannot ${verb} here`)
    }
  }

  #createStream(name: string, config: Body): object {
    const present = this.streams.get(name)
    if (present !== undefined)
      return JSON.stringify(present.config) === JSON.stringify(config)
        ? this.#describe(present, {})
        : {
            error: {
              code: 400,
              err_code: 10058,
              description: 'stream name already in use with a different configuration',
            },
          }
    const { time, rule, duplicateWindowMs } = this.#parts
    const stream = new SimStream(config as SimStream['config'], () => time.wallMs(), rule, duplicateWindowMs)
    this.streams.set(name, stream)
    return this.#describe(stream, {})
  }

  #describe(stream: SimStream, { subjects_filter: filter }: Body): object {
    return {
      type: 'io.nats.jetstream.api.v1.stream_info_response',
      config: stream.config,
      created: stream.created,
      ts: new Date(this.#parts.time.wallMs()).toISOString(),
      state: {
        messages: stream.size,
        bytes: 0,
        first_seq: stream.firstSequence,
        last_seq: stream.lastSequence,
        consumer_count: 0,
        ...(filter === undefined ? {} : { subjects: stream.subjects(String(filter)) }),
      },
    }
  }

  #purge(stream: SimStream, filter: string): object {
    const gone = [...stream.all()].filter(({ subject }) => subject in stream.subjects(filter))
    for (const { sequence } of gone) stream.remove(sequence)
    return { success: true, purged: gone.length }
  }

  #remove(stream: SimStream, sequence: number): object {
    if (stream.at(sequence) === undefined)
      return notDeleted(sequence > stream.lastSequence ? 'stream store EOF' : 'no message found')
    stream.remove(sequence)
    return { success: true }
  }

  #find(stream: SimStream, { seq, last_by_subj: last, next_by_subj: next }: Body): object {
    const found =
      last !== undefined
        ? stream.lastOf(String(last))
        : next !== undefined
          ? stream.nextOf(String(next), Number(seq))
          : stream.at(Number(seq))
    return found === undefined ? noMessage : storedText(found)
  }

  #serveConsumer(verb: string | undefined, rest: readonly string[], body: Body): object {
    const [streamName = '', name = ''] = verb === 'DURABLE' ? rest.slice(1) : rest
    const stream = this.streams.get(streamName)
    if (stream === undefined) return noStream
    if (verb === 'CREATE' || verb === 'DURABLE')
      return this.#createConsumer(stream, name, body['config'] as ConsumerSettings)
    const id = `${streamName}.${name}`
    const consumer = this.consumers.get(id)
    if (consumer === undefined) return noConsumer
    if (verb === 'INFO') return consumer.info
    if (verb !== 'DELETE') throw new Error(`a consumer cannot ${verb} here`)
    consumer.delete()
    this.consumers.delete(id)
    return { success: true }
  }

  #createConsumer(stream: SimStream, wanted: string, config: ConsumerSettings): object {
    this.#names += 1
    const name = wanted === '' ? `c${this.#names}` : wanted
    const id = `${stream.config.name}.${name}`
    const present = this.consumers.get(id)
    if (present !== undefined) return present.info
    const { time, deliver } = this.#parts
    const consumer = new SimConsumer(name, { ...config }, stream, time, deliver)
    this.consumers.set(id, consumer)
    return consumer.info
  }

  end(id: string): void {
    this.consumers.get(id)?.close()
    this.consumers.delete(id)
  }
}
