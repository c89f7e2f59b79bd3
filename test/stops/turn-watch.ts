/** Loaded into a gateway before its program: how long the turns of its event loop take, for whoever connects to the socket. */
import { createServer } from 'node:net'

export interface LongestTurn {
  /** CPU time of the main thread: what else the machine does is no part of it. */
  readonly cpuMs: number
  readonly ms: number
}

export const socketVariable = 'TURN_WATCH_SOCKET'

let [cpuMs, ms] = [0, 0]
let [cpu, startedMs] = [process.threadCpuUsage(), performance.now()]

const look = (): void => {
  const { user, system } = process.threadCpuUsage(cpu)
  cpuMs = Math.max(cpuMs, (user + system) / 1_000)
  ms = Math.max(ms, performance.now() - startedMs)
  cpu = process.threadCpuUsage()
  startedMs = performance.now()
  setImmediate(look).unref()
}

const path = process.env[socketVariable]
if (path !== undefined) {
  createServer((socket) => {
    socket.end(JSON.stringify({ cpuMs, ms } satisfies LongestTurn))
    ;[cpuMs, ms] = [0, 0]
  })
    .listen(path)
    .unref()
  look()
}
