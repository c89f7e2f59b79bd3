import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { faultCode } from '../errors/gateway-error.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { pollUntil } from './poll-until.ts'

const onLinux = process.platform === 'linux'

const readProcFile = (path: string): string | null => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes(String(faultCode(error)))) return null
    throw error
  }
}

const linuxStartTime = (pid: number): string | null => {
  const stat = readProcFile(`/proc/${pid}/stat`)
  if (stat === null) return null
  // proc(5): the name in parentheses may hold anything; field 3 is the state, field 22 the ticks from boot to start.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return null
  // Ticks count from boot, and a machine that boots the same way each time repeats them.
  return `${readProcFile('/proc/sys/kernel/random/boot_id')?.trim()}/${fields[18]}`
}

const psStartTime = (pid: number): string | null => {
  const line = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
  return line === '' || line.startsWith('Z') ? null : line.slice(line.indexOf(' ')).trim()
}

/** Distinguishes a process from a later one with the same pid; null when it is dead, or a zombie. */
export const readStartTime = (pid: number): string | null => (onLinux ? linuxStartTime(pid) : psStartTime(pid))

/** One process, and no later one that gets its pid. */
export interface ProcessIdentity {
  readonly pid: number
  readonly startTime: string
}

/** A process that is dead already gets a start time that no process has. */
export const identify = (pid: number): ProcessIdentity => ({ pid, startTime: readStartTime(pid) ?? 'ended at once' })

export const isAlive = ({ pid, startTime }: ProcessIdentity): boolean => readStartTime(pid) === startTime

const linuxPids = (ending: readonly string[]): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => readProcFile(`/proc/${name}/cmdline`)?.endsWith(`\0${ending.join('\0')}\0`))
    .map(Number)

const psPids = (ending: readonly string[]): number[] =>
  spawnSync('ps', ['-axo', 'pid=,args='], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line.endsWith(` ${ending.join(' ')}`))
    .map((line) => Number.parseInt(line, 10))

export const pidsWithArguments = (ending: readonly string[]): number[] => (onLinux ? linuxPids(ending) : psPids(ending))

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (faultCode(error) !== 'ESRCH') throw error
  }
}

/** Sends the signals in turn, `stopMs` apart, until the process is dead; throws when it outlives them all. */
export const endProcess = async (target: ProcessIdentity, signals: readonly NodeJS.Signals[]): Promise<void> => {
  for (const signal of signals) {
    if (!isAlive(target)) return
    send(target.pid, signal)
    if (await pollUntil(() => !isAlive(target), sharedLimits.stopMs)) return
  }
  throw new Error(`process ${target.pid} does not end, not even on ${signals.at(-1)}`)
}
