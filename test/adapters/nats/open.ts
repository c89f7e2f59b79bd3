import type { NatsConnection } from '@nats-io/transport-node'
import type { Test } from 'tap'
import { v7 } from 'uuid'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { type LogOptions, type OpenLog, openLog } from '../../../src/adapters/nats/log.ts'
import type { EventOf, Fact, FactOf } from '../../../src/events/envelope.ts'
import type { Frame } from '../../../src/log/event-log.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { LossyProxy } from './lossy-proxy.ts'
import type { NatsServer } from './server.ts'

export interface Opened {
  readonly connection: NatsConnection
  readonly log: OpenLog
  readonly fatal: Error[]
  close(): Promise<void>
}

const closeWithinMs = 2_000

/** A log with a connection of its own on a server; `url` leads there another way. */
export const openOn = async (
  server: NatsServer,
  { url = server.url, ...overrides }: Partial<LogOptions> & { readonly url?: string } = {},
): Promise<Opened> => {
  const connection = await connectNats({ url, name: 'test' })
  const fatal: Error[] = []
  const options: LogOptions = {
    connection,
    name: 'GATEWAY',
    role: 'edge',
    durability: 'synced',
    replicas: 1,
    monitoringUrl: server.monitoringUrl,
    clock: Date.now,
    newId: v7,
    logger: recordingLogger(),
    onFatal: (error) => fatal.push(error),
    ...overrides,
  }
  try {
    const log = await openLog(options)
    const close = async (): Promise<void> => {
      await log.close(closeWithinMs)
      await connection.close()
    }
    return { connection, log, fatal, close }
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** One log opened twice: through a proxy that can lose what passes, and beside it. */
export const openThroughLossy = async (
  t: Test,
  server: NatsServer,
  options: Pick<LogOptions, 'name'> & Partial<LogOptions>,
) => {
  const proxy = await LossyProxy.create(server.port)
  const opened = await openOn(server, { ...options, url: proxy.url })
  const beside = await openOn(server, { name: options.name })
  t.teardown(async () => {
    await opened.close()
    await beside.close()
    await proxy.close()
  })
  return { proxy, opened, beside }
}

export const adjustment = (adjustmentId: string, workspaceId = 'acme'): FactOf<'AdjustmentPosted'> => ({
  type: 'AdjustmentPosted',
  data: { adjustmentId, workspaceId, amount: '0.5', reason: 'undelivered', corrects: 'request-1', note: '' },
})

export const hold = (holdId: string, workspaceId = 'acme'): FactOf<'HoldPlaced'> => ({
  type: 'HoldPlaced',
  data: {
    holdId,
    workspaceId,
    purpose: 'allowance',
    amount: '1.25',
    deadline: '2026-01-01T00:00:00.000Z',
    owner: 'writer',
  },
})

/** A request's bill of an ordinary size. */
export const bill = (requestId: string): Extract<Fact, { type: 'UsageRecorded' }> => ({
  type: 'UsageRecorded',
  data: {
    requestId,
    workspaceId: 'acme',
    keyId: 'key-1',
    surface: 'chat',
    model: 'openai/gpt-4o-mini',
    provider: 'openai',
    level: 0,
    priceVersion: 'a1b2c3d4',
    usage: {
      inputUncached: 1200,
      cacheRead: 0,
      cacheWrite5m: 0,
      cacheWrite1h: 0,
      inputAudio: 0,
      inputImage: 0,
      outputTotal: 300,
      outputReasoning: 0,
      outputAudio: 0,
      outputImage: 0,
      toolCalls: {},
      promptTotal: 1200,
    },
    source: 'reported',
    lines: [
      { item: 'input', quantity: 1200, unitPrice: '0.00000015', amount: '0.00018' },
      { item: 'output', quantity: 300, unitPrice: '0.0000006', amount: '0.00018' },
    ],
    total: '0.00036',
    reserved: '0.002',
    allowanceId: 'allowance-1',
    attempts: [
      {
        model: 'openai/gpt-4o-mini',
        provider: 'openai',
        outcome: 'served',
        status: 200,
        reason: null,
        durationMs: 812,
      },
    ],
    outcome: 'completed',
  },
})

/** Every frame from the log's start to its present end. */
export const readAll = async (log: OpenLog): Promise<readonly Frame[]> => {
  const last = await log.lastSequence()
  const frames: Frame[] = []
  if (last === 0) return frames
  const complete = Promise.withResolvers<void>()
  const follower = log.follow(1, (frame) => {
    frames.push(frame)
    if (frame.sequence === last) complete.resolve()
  })
  await Promise.race([complete.promise, follower.done])
  await follower.stop()
  return frames
}

/** The ids of adjustments in a frame, in order. */
export const adjustmentIdsOf = (frame: Frame): readonly string[] =>
  frame.events
    .filter((event): event is EventOf<'AdjustmentPosted'> => event.type === 'AdjustmentPosted')
    .map(({ data }) => data.adjustmentId)
