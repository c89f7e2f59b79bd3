import { AckPolicy, DeliverPolicy, type JetStreamManager, JsHeaders, ReplayPolicy } from '@nats-io/jetstream'
import { createInbox, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node'
import { limits } from '../../limits.ts'
import type { Link } from './link.ts'
import type { LogMessage } from './read-frame.ts'

const nanosecondsInMs = 1_000_000

/** The log is not what it must be; no retry mends that. */
export class LogFault extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'LogFault'
  }
}

export interface SessionParts {
  readonly connection: NatsConnection
  readonly jsm: JetStreamManager
  readonly stream: string
  readonly link: Link
  /** How many messages the reader would take now. */
  readonly room: () => number
  readonly onMessage: (message: LogMessage) => void
  /** Called once, when the session will deliver no more and another must go on. */
  readonly onLost: (reason: string) => void
}

const heartbeatStatus = 100
const requestEndedStatus = 408

interface Delivery {
  readonly streamSequence: number
  readonly deliverySequence: number
}

/** From the reply subject: `$JS.ACK.[domain.account.]stream.consumer.delivered.streamSequence.deliverySequence.…`. */
const deliveryOf = (reply: string): Delivery => {
  const tokens = reply.split('.')
  const at = tokens.length === 9 ? 5 : 7
  return { streamSequence: Number(tokens[at]), deliverySequence: Number(tokens[at + 1]) }
}

/**
 * One short-lived consumer that delivers the stream in order from one sequence on. Whatever disturbs it (a restart, a new leader, a lost
 * message, silence) ends it; whoever reads opens the next one behind the last message that came.
 */
export class PullSession {
  readonly #parts: SessionParts
  readonly #inbox = createInbox()
  #subscription: Subscription | undefined
  #consumer = ''
  #delivered = 0
  /** Messages asked for that have not come yet. */
  #outstanding = 0
  #stallTimer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  /** Throws a LogFault when the stream does not reach to `fromSequence` or does not hold it any more. */
  async start(fromSequence: number): Promise<void> {
    const { connection, jsm, stream } = this.#parts
    await this.#assertReaches(fromSequence - 1)
    const info = await jsm.consumers.add(stream, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: fromSequence,
      replay_policy: ReplayPolicy.Instant,
      inactive_threshold: limits.followInactiveMs * nanosecondsInMs,
      mem_storage: true,
      num_replicas: 1,
    })
    this.#consumer = info.name
    if (info.delivered.stream_seq !== fromSequence - 1)
      throw new LogFault(`the log goes on at sequence ${info.delivered.stream_seq + 1}, not at ${fromSequence}`)
    if (this.#isOver) return this.close()
    this.#subscription = connection.subscribe(this.#inbox, { callback: (error, msg) => this.#receive(error, msg) })
    this.#stallTimer = setTimeout(() => this.#checkStall(), limits.followStallMs)
    this.fill()
  }

  /** Asks for as many messages as the reader has room for, in few and large requests. */
  fill(): void {
    if (this.#isOver || this.#subscription === undefined || this.#parts.connection.isClosed()) return
    const room = this.#parts.room()
    if (room > this.#outstanding * 2) this.#request(room - this.#outstanding)
  }

  /** Ends the session and lets the server forget its consumer. */
  async close(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#stallTimer)
    this.#subscription?.unsubscribe()
    const { jsm, link, stream } = this.#parts
    if (this.#consumer === '') return
    // Where the server cannot be told, it forgets the consumer by itself after `followInactiveMs`.
    await link.whileUp(() => jsm.consumers.delete(stream, this.#consumer)).catch(() => false)
  }

  /**
   * A consumer may start behind the end, and would then skip what comes in between. A new leader may still apply what it has committed; a
   * log that stays short has lost its end.
   */
  async #assertReaches(sequence: number): Promise<void> {
    const { jsm, link, stream } = this.#parts
    for (let attempt = 0; attempt < limits.followShortLogAttemptsMax; attempt += 1) {
      const { state } = await jsm.streams.info(stream)
      if (state.last_seq >= sequence) return
      await link.backOff(attempt)
    }
    throw new LogFault(`the log ends before sequence ${sequence}, which was read from it`)
  }

  #request(batch: number): void {
    this.#outstanding += batch
    const request = {
      batch,
      expires: limits.followPullMs * nanosecondsInMs,
      idle_heartbeat: limits.followHeartbeatMs * nanosecondsInMs,
    }
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${this.#parts.stream}.${this.#consumer}`
    this.#parts.connection.publish(subject, JSON.stringify(request), { reply: this.#inbox })
  }

  #lose(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#parts.onLost(reason)
  }

  #checkStall(): void {
    // With nothing asked for, because the reader is slow, the server has nothing to say.
    if (this.#outstanding > 0) this.#lose(`silent for ${limits.followStallMs} ms`)
    else this.#stallTimer?.refresh()
  }

  #receive(error: Error | null, msg: Msg): void {
    if (this.#isOver) return
    this.#stallTimer?.refresh()
    if (error !== null) this.#lose(error.message)
    else if (msg.subject === this.#inbox) this.#receiveStatus(msg)
    else this.#receiveMessage(msg)
    this.fill()
  }

  #receiveStatus(msg: Msg): void {
    const { code = 0, description = '' } = msg.headers ?? {}
    if (code === requestEndedStatus) this.#outstanding -= Number(msg.headers?.get(JsHeaders.PendingMessagesHdr) ?? 0)
    else if (code !== heartbeatStatus) this.#lose(`${code} ${description}`)
  }

  #receiveMessage(msg: Msg): void {
    const { streamSequence, deliverySequence } = deliveryOf(msg.reply ?? '')
    this.#delivered += 1
    this.#outstanding -= 1
    if (deliverySequence === this.#delivered)
      this.#parts.onMessage({ sequence: streamSequence, subject: msg.subject, data: msg.data })
    else this.#lose(`delivery ${this.#delivered} did not come`)
  }
}
