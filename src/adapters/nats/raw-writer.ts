import { type JetStreamClient, jetstream, type PubAck } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { type FrameWriter, RestoreRefused } from '../../audit/restore.ts'
import type { RawFrame } from '../../log/raw-frames.ts'
import { findPermissionViolation } from './connect.ts'
import { natsLimits } from './limits.ts'
import { Link } from './link.ts'
import { buildLogNames, type LogNames } from './streams.ts'

class InFlightFrames {
  readonly #sent = new Set<Promise<void>>()
  #bytes = 0
  #failure: unknown = null

  get failure(): unknown {
    return this.#failure
  }

  get isFull(): boolean {
    return this.#sent.size >= natsLimits.restoreFramesInFlightMax || this.#bytes >= natsLimits.restoreBytesInFlightMax
  }

  send(bytes: number, stored: Promise<void>): void {
    this.#bytes += bytes
    const settled = stored
      .catch((fault: unknown) => {
        this.#failure ??= fault
      })
      .finally(() => {
        this.#sent.delete(settled)
        this.#bytes -= bytes
      })
    this.#sent.add(settled)
  }

  async waitForOne(): Promise<void> {
    await Promise.race(this.#sent)
  }

  async waitForAll(): Promise<void> {
    await Promise.all(this.#sent)
  }
}

/** Each frame is sent with the sequence expected before it: none is stored out of order, twice, or after another's. */
class RawWriter implements FrameWriter {
  readonly #client: JetStreamClient
  readonly #link: Link
  readonly #names: LogNames
  #failures = 0
  /** Sequences of frames whose id an earlier frame of the log has too. */
  readonly #duplicateIds = new Set<number>()

  constructor(connection: NatsConnection, names: LogNames) {
    this.#client = jetstream(connection)
    this.#link = new Link(connection)
    this.#names = names
  }

  async store(frames: AsyncIterable<readonly RawFrame[]>): Promise<void> {
    const flight = new InFlightFrames()
    try {
      await this.#sendAll(frames, flight)
    } finally {
      await flight.waitForAll()
    }
    if (flight.failure === null) return
    const refusal = findPermissionViolation(flight.failure)
    if (refusal !== null)
      throw new RestoreRefused(`the log cannot be written to: ${refusal.message}`, { cause: refusal })
    await this.#link.backOff(this.#failures)
    this.#failures += 1
    throw flight.failure
  }

  async #sendAll(frames: AsyncIterable<readonly RawFrame[]>, flight: InFlightFrames): Promise<void> {
    for await (const batch of frames)
      for (const frame of batch) {
        while (flight.isFull) await flight.waitForOne()
        if (flight.failure !== null) return
        flight.send(frame.data.length, this.#send(frame))
      }
  }

  async #send(frame: RawFrame): Promise<void> {
    const { sequence, subject, id, data } = frame
    const options = {
      expect: { streamName: this.#names.stream, lastSequence: sequence - 1 },
      timeout: natsLimits.restoreAckMs,
      ...(id === '' || this.#duplicateIds.has(sequence) ? {} : { msgID: id }),
    }
    const publish = (): Promise<PubAck> => this.#client.publish(`${this.#names.prefix}${subject}`, data, options)
    this.#check(frame, await this.#link.runWhileUp(publish))
    this.#failures = 0
  }

  #check({ sequence, id }: RawFrame, { seq, duplicate }: PubAck): void {
    if (seq === sequence) return
    if (!duplicate) throw new RestoreRefused(`frame ${sequence} was stored at sequence ${seq}`)
    // The log has this id twice, further apart than the duplicate window; a restore sends them closer together.
    this.#duplicateIds.add(sequence)
    throw new Error(`the id ${id} of frame ${sequence} was stored before, at sequence ${seq}`)
  }
}

/** The caller closes the connection. */
export const openRawWriter = (connection: NatsConnection, name: string): FrameWriter =>
  new RawWriter(connection, buildLogNames(name))
