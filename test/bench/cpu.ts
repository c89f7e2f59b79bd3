/** What processes cost. */
import { readRecord } from '../../src/embedded/record.ts'
import type { LoadResult } from './asking.ts'
import type { Gateway } from './installation.ts'
import { cpuMicros, cpuMicrosWithChildren } from './procfs.ts'

/** Microseconds, by process; NaN where the system does not tell. */
export type Cpu = Readonly<Record<string, number>>

/** CPU time of a gateway's own processes, and of its servers, since each began. */
export const cpuOf = ({ pids, dataFolder }: Pick<Gateway, 'pids' | 'dataFolder'>): Cpu => {
  const own = Object.entries(pids).map(([name, pid]) => [name, cpuMicros(pid) ?? Number.NaN])
  const servers = (readRecord(dataFolder)?.servers ?? []).map(({ name, pid }) => [
    name,
    cpuMicrosWithChildren(pid) ?? Number.NaN,
  ])
  return Object.fromEntries([...own, ...servers])
}

export const spent = (before: Cpu, after: Cpu): Cpu =>
  Object.fromEntries(Object.entries(after).map(([name, micros]) => [name, micros - before[name]!]))

export const total = (cpu: Cpu): number => Object.values(cpu).reduce((sum, micros) => sum + micros, 0)

/** Microseconds for an answer, by process: of all rounds together, since the system counts in hundredths of a second. */
export const cpuEachOf = (
  measured: readonly { readonly result: Pick<LoadResult, 'answers'>; readonly cpu: Cpu }[],
): Cpu => {
  const answers = measured.reduce((sum, { result }) => sum + result.answers, 0)
  const sumOf = (name: string): number => measured.reduce((sum, { cpu }) => sum + cpu[name]!, 0)
  return Object.fromEntries(Object.keys(measured[0]!.cpu).map((name) => [name, sumOf(name) / answers]))
}
