import { randomBytes } from 'node:crypto'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Test } from 'tap'
import { connectNats } from '../../../../src/adapters/nats/connect.ts'
import { openWorkQueues, type QueueOptions, type WorkQueues } from '../../../../src/adapters/nats/work-queue/open.ts'
import type { QueueConsumer, WorkItem, WorkQueue } from '../../../../src/roles/work-queue.ts'
import type { Check } from '../../../../src/runtime/health.ts'
import { recordingLogger } from '../../../support/log-lines.ts'
import { NatsServer } from '../server.ts'

export interface QueueServer {
  readonly server: NatsServer
  readonly connection: NatsConnection
  readonly jsm: JetStreamManager
  /** How many messages a stream holds. */
  standing(stream: string): Promise<number>
}

/** A server of a test, and what looks into its streams. */
export const startQueueServer = async (t: Test): Promise<QueueServer> => {
  const server = await NatsServer.create()
  t.teardown(() => server.remove())
  const connection = await connectNats({ url: server.url, name: 'test' })
  t.teardown(() => connection.close())
  const jsm = await jetstreamManager(connection)
  return { server, connection, jsm, standing: async (stream) => (await jsm.streams.info(stream)).state.messages }
}

/** Queues with a connection of their own on a server; `url` leads there another way. */
export const openQueues = async (
  t: Test,
  server: NatsServer,
  { url = server.url, ...overrides }: Partial<QueueOptions> & { readonly url?: string } = {},
): Promise<WorkQueues> => {
  const connection = await connectNats({ url, name: 'test', role: 'video-poller' })
  t.teardown(() => connection.close())
  const queues = await openWorkQueues({
    connection,
    name: 'GATEWAY',
    role: 'video-poller',
    replicas: 1,
    durability: 'synced',
    monitoringUrl: server.monitoringUrl,
    create: true,
    puts: true,
    takes: true,
    clock: Date.now,
    logger: recordingLogger(),
    ...overrides,
  })
  t.teardown(() => queues.close())
  return queues
}

/** Takes items and keeps them, in the order in which they came. */
export class Taker implements QueueConsumer {
  readonly items: WorkItem[] = []
  readonly #running: QueueConsumer
  readonly #waiting = new Set<{ readonly count: number; readonly resolve: () => void }>()

  constructor(queue: WorkQueue, itemsMax = 100) {
    this.#running = queue.take(itemsMax, (item) => {
      this.items.push(item)
      for (const each of this.#waiting) if (this.items.length >= each.count) each.resolve()
    })
  }

  /** Resolves with the item that came as the so-manieth, counted from 1; rejects after so long. */
  async has(count: number, withinMs = 120_000): Promise<WorkItem> {
    const come = Promise.withResolvers<void>()
    const waiter = { count, resolve: come.resolve }
    this.#waiting.add(waiter)
    const timer = setTimeout(() => come.reject(new Error(`${this.items.length} items came, not ${count}`)), withinMs)
    if (this.items.length >= count) come.resolve()
    await come.promise.finally(() => {
      clearTimeout(timer)
      this.#waiting.delete(waiter)
    })
    return this.items[count - 1]!
  }

  get check(): Check {
    return this.#running.check
  }

  stop(): Promise<void> {
    return this.#running.stop()
  }
}

export const textOf = async (item: WorkItem): Promise<string | null> => {
  const bytes = await item.bytes()
  return bytes === null ? null : Buffer.from(bytes).toString()
}

export const bytesOf = (text: string): Uint8Array => Buffer.from(text)

export const megabytes = (count: number): Buffer => randomBytes(count * 1024 * 1024)
