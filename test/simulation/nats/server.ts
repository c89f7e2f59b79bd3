import type { Network } from '../network.ts'
import { runIn, type SimProcess } from '../process.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { NatsClient, type NatsMessage } from './client.ts'
import { type ConsumerSettings, SimConsumer } from './consumer.ts'
import { type ApiError, type DuplicateRule, SimStream, type StoredMessage } from './stream.ts'
import { Interest } from './subjects.ts'

export interface NatsFaults {
  /** Asked for each message that is stored: whether its acknowledgement is lost, and else how late it is. */
  readonly acknowledgement: (subject: string) => { readonly isLost: boolean; readonly delayMs: number }
  /** Before and after the server obeys a message; false where its sender dies there. */
  readonly reach?: (sender: SimProcess | undefined, subject: string, place: 'before' | 'after') => boolean
  readonly stored?: (stream: string, message: StoredMessage) => void
  /** Asked for each message that is not stored. */
  readonly losesMessage?: (subject: string) => boolean
  /** From a work queue, as done. */
  readonly removed?: (stream: string, message: StoredMessage) => void
}

export interface SimNatsParts {
  readonly time: VirtualTime
  readonly network: Network
  readonly process: SimProcess
  readonly random: () => number
  readonly rule: DuplicateRule
  readonly duplicateWindowMs?: number | undefined
  readonly faults: NatsFaults
}

export const natsPort = 4222

const none = Buffer.alloc(0)
const apiPrefix = '$JS.API.'
const noResponders = 'NATS/1.0 503\r\n\r\n'

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

const noLeader = { error: { code: 503, err_code: 10008, description: 'JetStream system temporarily unavailable' } }
const noRoom = { error: { code: 503, err_code: 10023, description: 'insufficient resources' } }

/** A nats-server with JetStream, as far as the program's adapter uses one. What it has stored outlives a restart. */
export class SimNats {
  readonly streams = new Map<string, SimStream>()
  /** Its disk is full until then. */
  fullUntilMs = 0
  #leaderlessUntilMs = 0
  readonly #parts: SimNatsParts
  readonly #consumers = new Map<string, SimConsumer>()
  readonly #clients = new Set<NatsClient>()
  #interest = new Interest()
  #names = 0
  #starts = 0

  constructor(parts: SimNatsParts) {
    this.#parts = parts
    this.start()
  }

  start(): void {
    const { network, process } = this.#parts
    this.#starts += 1
    runIn(process, () => network.listen(natsPort, (socket) => this.#accept(socket)))
  }

  /** Ends the present connections. */
  cut(): void {
    for (const client of [...this.#clients]) client.close()
  }

  /** As a server that has lost its consumers in memory: whoever waits for their messages gets none. */
  forgetConsumers(): void {
    for (const [id, { config }] of this.#consumers) if (config.durable_name === undefined) this.#end(id)
  }

  /** Connections stay. What was on its way to the leader before is stored or not; nobody is told. */
  stepDown(electionMs: number): void {
    const { time } = this.#parts
    this.#leaderlessUntilMs = time.nowMs + electionMs
    for (const [id, consumer] of this.#consumers) {
      consumer.endPulls(409, 'Leadership Change')
      if (consumer.config.durable_name === undefined && this.#parts.random() < 0.3) this.#end(id)
    }
  }

  /** All connections end; what was only in memory is gone. */
  kill(): void {
    this.#parts.network.close(natsPort)
    this.cut()
    for (const [id, consumer] of this.#consumers)
      if (consumer.config.durable_name === undefined) this.#end(id)
      else {
        consumer.dropPulls()
        if (this.#parts.random() < 0.5) consumer.forgetLeases()
      }
    for (const [name, { config }] of this.streams) if (config.storage === 'memory') this.streams.delete(name)
  }

  #accept(socket: ConstructorParameters<typeof NatsClient>[0]): void {
    const client = new NatsClient(socket, this.#info(), {
      publish: (sender, message) => this.#receiveFrom(sender, message),
      subscribe: (subscription) => this.#interest.add(subscription),
      unsubscribe: (subscription) => this.#interest.remove(subscription),
      closed: (closed) => this.#clients.delete(closed),
    })
    this.#clients.add(client)
  }

  #info(): object {
    return {
      server_id: `SIMULATED${this.#starts}`,
      server_name: 'simulated',
      version: '2.14.0',
      proto: 1,
      headers: true,
      jetstream: true,
      max_payload: 1_048_576,
      client_id: this.#clients.size + 1,
    }
  }

  /** What was sent before its sender died arrives. */
  #receiveFrom({ owner }: NatsClient, message: NatsMessage): void {
    const { reach = () => true } = this.#parts.faults
    if (!reach(owner, message.subject, 'before')) return
    this.#receive(message)
    reach(owner, message.subject, 'after')
  }

  #receive(message: NatsMessage): void {
    const { subject, reply, data } = message
    const stream = this.#streamOf(subject)
    if (this.#parts.time.nowMs < this.#leaderlessUntilMs && (stream !== undefined || subject.startsWith('$JS.')))
      this.#receiveLeaderless(stream, message)
    else if (subject.startsWith(apiPrefix)) this.#serve(subject.slice(apiPrefix.length), reply, data)
    else if (subject.startsWith('$JS.ACK.')) this.#acknowledge(subject, reply, data)
    else if (stream !== undefined) this.#store(stream, message)
    else if (this.#parts.faults.losesMessage?.(subject)) return
    else if (!this.#publish(message) && reply !== '') this.#refuse(reply)
  }

  #streamOf(subject: string): SimStream | undefined {
    for (const stream of this.streams.values()) if (stream.takes(subject)) return stream
    return undefined
  }

  #receiveLeaderless(stream: SimStream | undefined, message: NatsMessage): void {
    if (stream !== undefined && this.#parts.random() < 0.3) this.#store(stream, { ...message, reply: '' })
    else if (stream !== undefined && this.#parts.random() < 0.5) this.#refuse(message.reply)
    else if (/^\$JS\.API\.(STREAM|CONSUMER)\.(INFO|CREATE)/.test(message.subject))
      this.#respond(message.reply, noLeader)
  }

  #refuse(reply: string): void {
    this.#publish({ subject: reply, reply: '', headers: noResponders, data: none })
  }

  #publish(message: NatsMessage, shown = message.subject): boolean {
    const found = this.#interest.find(message.subject)
    const to = shown === message.subject ? message : { ...message, subject: shown }
    const groups = new Set<string>()
    for (const each of found)
      if (each.queue === null) each.client.send(each, to)
      else groups.add(each.queue)
    for (const group of groups) {
      const members = found.filter(({ queue }) => queue === group)
      const chosen = members[Math.floor(this.#parts.random() * members.length)]!
      chosen.client.send(chosen, message)
    }
    return found.length > 0
  }

  #respond(reply: string, body: object, delayMs = 0): void {
    if (reply === '') return
    const answer = { subject: reply, reply: '', headers: '', data: Buffer.from(JSON.stringify(body)) }
    if (delayMs === 0) this.#publish(answer)
    else this.#parts.time.schedule(delayMs, () => this.#publish(answer))
  }

  #store(stream: SimStream, { subject, reply, headers, data }: NatsMessage): void {
    const isFull = stream.config.storage === 'file' && this.#parts.time.nowMs < this.fullUntilMs
    const stored = isFull ? noRoom : stream.store(subject, headers, data)
    const body = { seq: 0, ...stored, stream: stream.config.name }
    const { acknowledgement, stored: onStored } = this.#parts.faults
    const { isLost, delayMs } = acknowledgement(subject)
    if ('seq' in stored && !stored.duplicate) onStored?.(stream.config.name, stream.at(stored.seq)!)
    if ('error' in stored) this.#respond(reply, body)
    else if (!isLost) this.#respond(reply, body, delayMs)
    const prefix = `${stream.config.name}.`
    for (const [id, consumer] of this.#consumers) if (id.startsWith(prefix)) consumer.handOut()
  }

  #acknowledge(subject: string, reply: string, data: Buffer): void {
    const [, , stream, consumer, , sequence] = subject.split('.')
    const found = this.#consumers.get(`${stream}.${consumer}`)
    if (found === undefined) return
    const message = this.streams.get(stream!)?.at(Number(sequence))
    found.acknowledge(Number(sequence), data.toString())
    if (message !== undefined && this.streams.get(stream!)?.at(message.sequence) === undefined)
      this.#parts.faults.removed?.(stream!, message)
    if (reply !== '') this.#publish({ subject: reply, reply: '', headers: '', data: none })
  }

  #serve(name: string, reply: string, data: Buffer): void {
    const [noun, verb, ...rest] = name.split('.')
    if (noun === 'CONSUMER' && verb === 'MSG') this.#pull(rest, reply, data)
    else this.#respond(reply, this.#answer(noun, verb, rest, data.toString() || '{}'))
  }

  #answer(noun: string | undefined, verb: string | undefined, rest: readonly string[], text: string): object {
    const body = JSON.parse(text) as Body
    return noun === 'STREAM' ? this.#serveStream(verb, rest, body) : this.#serveConsumer(verb, rest, body)
  }

  #pull([, stream, consumer]: readonly string[], reply: string, data: Buffer): void {
    const found = this.#consumers.get(`${stream}.${consumer}`)
    if (found === undefined) this.#refuse(reply)
    else found.request(reply, data.toString())
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
    const consumer = this.#consumers.get(id)
    if (consumer === undefined) return noConsumer
    if (verb === 'INFO') return consumer.info
    if (verb !== 'DELETE') throw new Error(`a consumer cannot ${verb} here`)
    consumer.delete()
    this.#consumers.delete(id)
    return { success: true }
  }

  #createConsumer(stream: SimStream, wanted: string, config: ConsumerSettings): object {
    this.#names += 1
    const name = wanted === '' ? `c${this.#names}` : wanted
    const id = `${stream.config.name}.${name}`
    const present = this.#consumers.get(id)
    if (present !== undefined) return present.info
    const { time } = this.#parts
    const consumer = new SimConsumer(name, { ...config }, stream, time, ({ to, subject, ...message }) =>
      this.#publish({ subject: to, ...message }, subject),
    )
    this.#consumers.set(id, consumer)
    return consumer.info
  }

  #end(id: string): void {
    this.#consumers.get(id)?.close()
    this.#consumers.delete(id)
  }
}
