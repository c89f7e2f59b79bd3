import type { LoadResult } from '../asking.ts'
import type { BenchProcess } from '../child.ts'
import type { Gateway } from '../installation.ts'
import { ordinaryShape } from '../shape.ts'
import { type Memories, watchMemory } from './memory.ts'
import { addressOf } from './rounds.ts'
import type { StreamQuestion, StreamResult } from './stream-client.ts'

/** One chunk each 20 ms for 100 minutes would be as many; the buffers of the sockets alone take 60,000 of them. */
export const slowShape = { ...ordinaryShape, chunks: 300_000 }
export const bursts = { bytes: 1024 * 1024, pauseMs: 250 } as const

/** 20 seconds of it. */
export const trickleShape = { ...ordinaryShape, chunks: 1_000, everyMs: 20 }
export const busyConnections = 64
const busySeconds = 22

export interface SlowStream extends StreamResult {
  readonly memory: Memories
}

export interface Trickle extends SlowStream {
  /** What the busy connections got beside it. */
  readonly busy: LoadResult
}

type Where = Pick<StreamQuestion, 'upstreamUrl' | 'caller'>

/** A client that reads a long stream in bursts, with pauses that reach the upstream. */
export const measureSlow = async (client: BenchProcess, gateway: Gateway, where: Where): Promise<SlowStream> => {
  const question: StreamQuestion = { ...addressOf(gateway), ...where, shape: slowShape, bursts }
  const { found, memory } = await watchMemory(gateway.pids, () => client.ask<StreamResult>(question))
  return { ...found, memory }
}

/** A stream that trickles, beside busy connections. */
export const measureTrickle = async (
  client: BenchProcess,
  load: BenchProcess,
  gateway: Gateway,
  where: Where,
): Promise<Trickle> => {
  const question: StreamQuestion = { ...addressOf(gateway), ...where, shape: trickleShape, bursts: null }
  const busyLoad = { ...addressOf(gateway), stream: false, connections: busyConnections, seconds: busySeconds }
  const { found, memory } = await watchMemory(gateway.pids, () =>
    Promise.all([client.ask<StreamResult>(question), load.ask<LoadResult>(busyLoad)]),
  )
  const [stream, busy] = found
  return { ...stream, busy, memory }
}
