import { AckPolicy, DeliverPolicy, type JetStreamManager, ReplayPolicy } from '@nats-io/jetstream'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { nanosecondsInMs } from './ensure-stream.ts'
import { natsLimits } from './limits.ts'
import type { Link } from './link.ts'
import { PullSession, parseDelivery } from './pull-session.ts'
import type { LogMessage } from './read-frame.ts'

/** The log is incomplete or invalid; retrying does not help. */
export class LogFault extends Error {
  /** The missing sequences, and the sequence at which the log resumes after them. */
  readonly gap: { readonly from: number; readonly resumesAt: number } | null

  constructor(message: string, gap: LogFault['gap'] = null) {
    super(message)
    this.name = 'LogFault'
    this.gap = gap
  }
}

interface FollowSessionParts {
  readonly connection: NatsConnection
  readonly jsm: JetStreamManager
  readonly stream: string
  readonly inboxPrefix: string
  readonly link: Link
  readonly room: () => number
  readonly onMessage: (message: LogMessage) => void
  readonly onEnd: (reason: string) => void
}

const pace = {
  expiresMs: natsLimits.followPullMs,
  heartbeatMs: natsLimits.followHeartbeatMs,
  stallMs: natsLimits.followStallMs,
}

/**
 * One short-lived consumer that delivers the stream in order from one sequence on. Any disturbance (a restart, a new
 * leader, a lost message, silence) ends it; its owner opens the next one after the last message received.
 */
export class FollowSession {
  readonly #parts: FollowSessionParts
  #consumer = ''
  #pulls: PullSession | undefined
  #delivered = 0
  /** The log's last sequence, as the consumer's server reports it. */
  #logEnd = 0
  /** The same, as the stream's leader last reported it; 0 where it has not since messages were requested. */
  #leaderLogEnd = 0
  #lagTimer: NodeJS.Timeout | undefined
  #isOver = false
  #deleted: Promise<unknown> | undefined

  constructor(parts: FollowSessionParts) {
    this.#parts = parts
  }

  /** Resolves with the log's last sequence. Throws a LogFault when it does not reach `fromSequence` or no longer holds it. */
  async start(fromSequence: number): Promise<number> {
    const { jsm, stream } = this.#parts
    const end = await this.#assertReaches(fromSequence - 1)
    const info = await jsm.consumers.add(stream, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: fromSequence,
      replay_policy: ReplayPolicy.Instant,
      inactive_threshold: natsLimits.followInactiveMs * nanosecondsInMs,
      mem_storage: true,
      num_replicas: 1,
    })
    this.#consumer = info.name
    const next = info.delivered.stream_seq + 1
    if (next > fromSequence)
      throw new LogFault(`the log continues at sequence ${next}, not at ${fromSequence}`, {
        from: fromSequence,
        resumesAt: next,
      })
    this.#logEnd = info.delivered.stream_seq + info.num_pending
    if (next < fromSequence || this.#logEnd < end - natsLimits.followLagFramesMax)
      throw new Error(this.#describeLag(end))
    if (this.#isOver) {
      await this.close()
      return end
    }
    this.#pulls = new PullSession({
      ...this.#parts,
      consumer: this.#consumer,
      pace,
      bytesMax: natsLimits.followPullBytesMax,
      onMessage: (msg) => this.#receive(msg),
      onEnd: (reason) => this.#endSession(reason),
    })
    this.#lagTimer = setInterval(() => void this.#checkLag(), natsLimits.followLagCheckMs)
    this.#pulls.start()
    this.#leaderLogEnd = end
    return end
  }

  fill(): void {
    if (this.#pulls?.isWaiting === false) this.#leaderLogEnd = 0
    this.#pulls?.fill()
  }

  /** May be called again. */
  async close(): Promise<void> {
    this.#isOver = true
    clearInterval(this.#lagTimer)
    this.#pulls?.close()
    const { jsm, link, stream } = this.#parts
    if (this.#consumer === '') return
    // A server that is not reached drops the consumer by itself after `followInactiveMs`.
    this.#deleted ??= link.runWhileUp(() => jsm.consumers.delete(stream, this.#consumer)).catch(() => false)
    await this.#deleted
  }

  /**
   * A consumer created beyond the end would skip what is stored in between. A new leader may still apply what it has
   * committed, so a short log is checked again; one that stays short has lost its end. Resolves with the last sequence.
   */
  async #assertReaches(sequence: number): Promise<number> {
    const { jsm, link, stream } = this.#parts
    for (let attempt = 0; attempt < natsLimits.followShortLogAttemptsMax; attempt += 1) {
      const { state } = await jsm.streams.info(stream)
      if (state.last_seq >= sequence) return state.last_seq
      await link.backOff(attempt)
    }
    throw new LogFault(`the log ends before sequence ${sequence}, which was read from it`)
  }

  #endSession(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#parts.onEnd(reason)
  }

  #describeLag(end: number): string {
    return `the consumer's server has the log to sequence ${this.#logEnd}, the leader to ${end}`
  }

  /**
   * A consumer may be on any server of a cluster. One that has restarted or is slow keeps sending heartbeats while it
   * lags behind the stream's leader: what the leader had at one check must be there by the next.
   */
  async #checkLag(): Promise<void> {
    const { jsm, link, stream } = this.#parts
    if (this.#pulls?.isWaiting && this.#logEnd < this.#leaderLogEnd)
      return this.#endSession(this.#describeLag(this.#leaderLogEnd))
    // While no leader answers there is nothing to compare with.
    const info = await link.runWhileUp(() => jsm.streams.info(stream)).catch(() => null)
    this.#leaderLogEnd = info?.state.last_seq ?? 0
  }

  #receive(msg: Msg): void {
    if (this.#isOver) return
    const { streamSequence, deliverySequence, storedMs, pending } = parseDelivery(msg.reply ?? '')
    this.#delivered += 1
    this.#logEnd = streamSequence + pending
    if (deliverySequence === this.#delivered)
      this.#parts.onMessage({ sequence: streamSequence, subject: msg.subject, storedMs, data: msg.data })
    else this.#endSession(`delivery ${this.#delivered} did not come`)
  }
}
