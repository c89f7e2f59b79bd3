/** Measures one poller with many open tasks: `node test/roles/video-poller/ten-thousand-tasks.ts [tasks] [calls a second] [seconds]`. */

import { setTimeout as delay } from 'node:timers/promises'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import { videoPoller } from '../../../src/roles/video-poller/role.ts'
import { silentLogger } from '../../support/log-lines.ts'
import { success } from './scripted-vendor.ts'
import { World } from './world.ts'

const [tasks = 10_000, callsPerSecond = 2_000, seconds = 60] = process.argv.slice(2).map(Number)
const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`
const collect = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

const world = new World()
const startedMs = performance.now()
const endsMs = new Map<string, number>()
const answered = async <T>(answer: T): Promise<T> => {
  await delay(20)
  return answer
}
let calls = 0
const vendor = {
  callsPerSecond,
  submit: (payload: { taskId: string }) => {
    calls += 1
    endsMs.set(payload.taskId, performance.now() + (seconds + Math.random() * seconds) * 1_000)
    return answered({ type: 'accepted' as const, vendorTaskId: payload.taskId })
  },
  query: (_kind: string, vendorTaskId: string) => {
    calls += 1
    return answered(
      performance.now() < (endsMs.get(vendorTaskId) ?? 0)
        ? { type: 'open' as const, vendorTaskId, status: 'IN_PROGRESS' as const }
        : { type: 'ended' as const, verdict: success(vendorTaskId) },
    )
  },
  find: () => answered({ type: 'not_found' as const }),
}
for (let n = 0; n < tasks; n += 1) await world.order({ taskId: `task_${n}`, callbackUrl: null })
const tail = new LedgerTail(world.folded().ledger, world.log)
const before = collect()
const running = await videoPoller.start({
  log: world.log,
  tail,
  recentTasks: { find: async () => null },
  tasks: world.tasks,
  callbacks: world.callbacks,
  vendors: new Map([['vv', vendor]]),
  webhooks: null,
  clock: Date.now,
  logger: silentLogger,
})
let last = { calls: 0, cpu: process.cpuUsage(), atMs: performance.now() }
while (world.tasks.done.length < tasks) {
  await delay(10_000)
  const cpu = process.cpuUsage(last.cpu)
  const spentMs = performance.now() - last.atMs
  console.log(
    `${((performance.now() - startedMs) / 1_000).toFixed(0)} s: ${tail.ledger.tasks.size} open, ${world.tasks.done.length} done,`,
    `${Math.round(((calls - last.calls) * 1_000) / spentMs)} calls/s, CPU ${((cpu.user + cpu.system) / 10 / spentMs).toFixed(1)} %,`,
    `heap over the start ${megabytes(collect() - before)}, RSS ${megabytes(process.memoryUsage().rss)},`,
    `${world.log.frames.length - 1 - tasks} events, ${world.tasks.renewals} renewals`,
  )
  last = { calls, cpu: process.cpuUsage(), atMs: performance.now() }
}
await running.stop()
await tail.stop()
