import type { Network } from '../network.ts'
import { runIn, type SimProcess } from '../process.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { NatsClient, type NatsMessage } from './client.ts'
import { SimJetStream } from './jetstream.ts'
import type { DuplicateRule, SimStream, StoredMessage } from './stream.ts'
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

const noLeader = { error: { code: 503, err_code: 10008, description: 'JetStream system temporarily unavailable' } }
const noRoom = { error: { code: 503, err_code: 10023, description: 'insufficient resources' } }

/** A nats-server with JetStream, as far as the program's adapter uses one. What it has stored outlives a restart. */
export class SimNats {
  /** Its disk is full until then. */
  fullUntilMs = 0
  #leaderlessUntilMs = 0
  readonly #parts: SimNatsParts
  readonly #jetStream: SimJetStream
  readonly #clients = new Set<NatsClient>()
  #interest = new Interest()
  #starts = 0

  constructor(parts: SimNatsParts) {
    this.#parts = parts
    this.#jetStream = new SimJetStream({
      ...parts,
      deliver: ({ to, subject, ...message }) => this.#publish({ subject: to, ...message }, subject),
    })
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
    for (const [id, { config }] of this.#jetStream.consumers)
      if (config.durable_name === undefined) this.#jetStream.end(id)
  }

  /** Connections stay. What was on its way to the leader before is stored or not; nobody is told. */
  stepDown(electionMs: number): void {
    const { time } = this.#parts
    this.#leaderlessUntilMs = time.nowMs + electionMs
    for (const [id, consumer] of this.#jetStream.consumers) {
      consumer.endPulls(409, 'Leadership Change')
      if (consumer.config.durable_name === undefined && this.#parts.random() < 0.3) this.#jetStream.end(id)
    }
  }

  /** All connections end; what was only in memory is gone. */
  kill(): void {
    this.#parts.network.close(natsPort)
    this.cut()
    for (const [id, consumer] of this.#jetStream.consumers)
      if (consumer.config.durable_name === undefined) this.#jetStream.end(id)
      else {
        consumer.dropPulls()
        if (this.#parts.random() < 0.5) consumer.forgetLeases()
      }
    for (const [name, { config }] of this.#jetStream.streams)
      if (config.storage === 'memory') this.#jetStream.streams.delete(name)
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
    for (const stream of this.#jetStream.streams.values()) if (stream.takes(subject)) return stream
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
    for (const [id, consumer] of this.#jetStream.consumers) if (id.startsWith(prefix)) consumer.handOut()
  }

  #acknowledge(subject: string, reply: string, data: Buffer): void {
    const [, , stream, consumer, , sequence] = subject.split('.')
    const found = this.#jetStream.consumers.get(`${stream}.${consumer}`)
    if (found === undefined) return
    const message = this.#jetStream.streams.get(stream!)?.at(Number(sequence))
    found.acknowledge(Number(sequence), data.toString())
    if (message !== undefined && this.#jetStream.streams.get(stream!)?.at(message.sequence) === undefined)
      this.#parts.faults.removed?.(stream!, message)
    if (reply !== '') this.#publish({ subject: reply, reply: '', headers: '', data: none })
  }

  #serve(name: string, reply: string, data: Buffer): void {
    const [noun, verb, ...rest] = name.split('.')
    if (noun === 'CONSUMER' && verb === 'MSG') this.#pull(rest, reply, data)
    else this.#respond(reply, this.#jetStream.answer(noun, verb, rest, data.toString() || '{}'))
  }

  #pull([, stream, consumer]: readonly string[], reply: string, data: Buffer): void {
    const found = this.#jetStream.consumers.get(`${stream}.${consumer}`)
    if (found === undefined) this.#refuse(reply)
    else found.request(reply, data.toString())
  }
}
