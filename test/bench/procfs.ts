/** What Linux tells of a process; null where the system does not tell. */
import { readFileSync, writeFileSync } from 'node:fs'

const read = (path: string): string | null => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null // No /proc, or the process has ended.
  }
}

const statusBytes = (pid: number, name: 'VmRSS' | 'VmHWM'): number | null => {
  const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(read(`/proc/${pid}/status`) ?? '')?.[1]
  return kilobytes === undefined ? null : Number(kilobytes) * 1024
}

export const residentBytes = (pid: number): number | null => statusBytes(pid, 'VmRSS')

/** The most memory that a process has had resident. */
export const peakMemoryBytes = (pid: number): number | null => statusBytes(pid, 'VmHWM')

const resetPeak = '5' // proc_pid_clear_refs(5)

/** The peak is from here on; false where the system does not let it be forgotten. */
export const forgetPeak = (pid: number): boolean => {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, resetPeak)
    return true
  } catch {
    return false
  }
}

const microsPerTick = 10_000 // USER_HZ is 100 on every Linux that Node runs on.
const userTicksField = 14 // proc_pid_stat(5); after it: system, and both of the children that have ended.

/** CPU time of a process since its start, all threads, in microseconds. */
const ownCpuMicros = (pid: number, withEnded: boolean): number | null => {
  const stat = read(`/proc/${pid}/stat`)
  if (stat === null) return null
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ') // The name before may hold anything; it is field 2.
  const ticks = fields.slice(userTicksField - 3, userTicksField - 3 + (withEnded ? 4 : 2))
  return ticks.reduce((sum, each) => sum + Number(each), 0) * microsPerTick
}

export const childrenOf = (pid: number): readonly number[] =>
  (read(`/proc/${pid}/task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number)

export const cpuMicros = (pid: number): number | null => ownCpuMicros(pid, false)

/** That of a process and all below it, those that have ended included. */
export const cpuMicrosWithChildren = (pid: number): number | null => {
  const own = ownCpuMicros(pid, true)
  return own === null ? null : childrenOf(pid).reduce((sum, child) => sum + (cpuMicrosWithChildren(child) ?? 0), own)
}

/** Memory of a process and all below it; what several share is counted once. */
export const treeBytes = (pid: number): number => {
  const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1]
  return childrenOf(pid).reduce((sum, child) => sum + treeBytes(child), Number(kilobytes ?? 0) * 1024)
}

const hexadecimal = 16

/** Bytes that wait in the kernel, written and not read, on the TCP connections of these local ports, at both ends. */
export const queuedBytes = (ports: readonly number[]): number | null => {
  const rows = read('/proc/net/tcp')?.trim().split('\n').slice(1)
  if (rows === undefined) return null
  const endings = ports.map((port) => `:${port.toString(hexadecimal).toUpperCase().padStart(4, '0')}`)
  let bytes = 0
  for (const row of rows) {
    const [, local = '', remote = '', , queues = ''] = row.trim().split(/\s+/)
    if (!endings.some((ending) => local.endsWith(ending) || remote.endsWith(ending))) continue
    for (const queue of queues.split(':')) bytes += Number.parseInt(queue, hexadecimal)
  }
  return bytes
}
