import { setTimeout as delay } from 'node:timers/promises'
import type { LoadResult } from '../asking.ts'
import type { BenchProcess } from '../child.ts'
import { type Cpu, cpuOf, spent } from '../cpu.ts'
import type { Gateway } from '../installation.ts'
import { peakMemoryBytes, residentBytes } from '../procfs.ts'
import type { SubmitLoad } from './load.ts'
import type { VendorCount, VendorQuestion } from './vendor.ts'

const submitWithinSeconds = 300
const lookMs = 250
const connections = 64

/** One video-poller with many open tasks. */
export interface OpenTasks {
  readonly tasks: number
  /** From the first submit until the vendor had them all. */
  readonly submittedSeconds: number
  readonly watchedSeconds: number
  readonly queriesPerSecond: number
  /** Shares of one core, by process. */
  readonly cpu: Cpu
  /** The poller's. */
  readonly memory: { readonly before: number | null; readonly resident: number | null; readonly peak: number | null }
}

export interface OpenTasksBench {
  readonly load: BenchProcess
  readonly vendor: BenchProcess
  readonly gateway: Gateway
  readonly keys: readonly string[]
}

const until = async (holds: () => Promise<boolean>, withinSeconds: number): Promise<void> => {
  const giveUpMs = performance.now() + withinSeconds * 1_000
  while (!(await holds())) {
    if (performance.now() > giveUpMs) throw new Error(`not within ${withinSeconds} s`)
    await delay(lookMs)
  }
}

const countOf = (vendor: BenchProcess): Promise<VendorCount> =>
  vendor.ask<VendorCount>({ directives: null } satisfies VendorQuestion)

const submitAll = async ({ load, gateway, keys }: OpenTasksBench, tasks: number): Promise<void> => {
  const { url } = gateway
  const question: SubmitLoad = { url, keys, connections, seconds: submitWithinSeconds, submitsMax: tasks }
  const { answers } = await load.ask<LoadResult>(question)
  if (answers !== tasks) throw new Error(`${answers} of ${tasks} submits were accepted`)
}

/** So many tasks at once, all of them open while they are watched. */
export const measureOpenTasks = async (
  bench: OpenTasksBench,
  tasks: number,
  watchedSeconds: number,
): Promise<OpenTasks> => {
  const { vendor, gateway } = bench
  const pid = gateway.pids['video-poller']!
  const before = residentBytes(pid)
  const made = (await countOf(vendor)).made + tasks
  const fromMs = performance.now()
  await submitAll(bench, tasks)
  await until(async () => (await countOf(vendor)).made === made, submitWithinSeconds)
  const submittedSeconds = (performance.now() - fromMs) / 1_000
  const first = { cpu: cpuOf(gateway), queries: (await countOf(vendor)).queries, atMs: performance.now() }
  await delay(watchedSeconds * 1_000)
  const seconds = (performance.now() - first.atMs) / 1_000
  const cpu = spent(first.cpu, cpuOf(gateway))
  const { queries, open } = await countOf(vendor)
  if (open < tasks) throw new Error(`only ${open} tasks were open to the end`)
  return {
    tasks,
    submittedSeconds,
    watchedSeconds: seconds,
    queriesPerSecond: (queries - first.queries) / seconds,
    cpu: Object.fromEntries(Object.entries(cpu).map(([name, micros]) => [name, micros / 1e6 / seconds])),
    memory: { before, resident: residentBytes(pid), peak: peakMemoryBytes(pid) },
  }
}
