import { endlessSeconds, type LoadResult } from '../asking.ts'
import { type Cpu, cpuEachOf, cpuOf, spent, total } from '../cpu.ts'
import { median } from '../figures.ts'
import { progress } from '../run.ts'
import { megabytes, table, whole } from '../table.ts'
import { type Asked, bytesOf, type Side } from './side.ts'

interface Measured {
  readonly result: LoadResult
  readonly cpu: Cpu
  readonly bytes: number
  /** That the log got meanwhile. */
  readonly frames: number
}

/** The rounds of each side: all have the same load in the same seconds. */
const measureRounds = async (sides: readonly Side[], asked: Omit<Asked, 'seconds'>, rounds: number) => {
  const measured = sides.map((): Measured[] => [])
  for (let round = 1; round <= rounds; round += 1) {
    const before = sides.map(({ gateway }) => cpuOf(gateway))
    const framesBefore = await Promise.all(sides.map((side) => side.frames()))
    const results = await Promise.all(sides.map((side) => side.load({ ...asked, seconds: endlessSeconds })))
    const bytes = sides.map(bytesOf)
    for (const { books } of sides) await books.settled()
    const frames = await Promise.all(sides.map((side) => side.frames()))
    for (const [place, { gateway }] of sides.entries())
      measured[place]!.push({
        ...{ result: results[place]!, bytes: bytes[place]!, frames: frames[place]! - framesBefore[place]! },
        cpu: spent(before[place]!, cpuOf(gateway)),
      })
    const each = sides.map(({ name }, place) => `${name} ${whole(eachOf(measured[place]!).at(-1)!)} µs`)
    progress(`round ${round}: ${each.join(', ')}`)
  }
  return measured
}

const eachOf = (rounds: readonly Measured[]): readonly number[] =>
  rounds.map(({ cpu, result }) => total(cpu) / result.answers)

const framesEachOf = (rounds: readonly Measured[]): number =>
  rounds.reduce((sum, { frames }) => sum + frames, 0) / rounds.reduce((sum, { result }) => sum + result.answers, 0)

const servers = ['nats', 'postgres']

const rowOf = (name: string, own: readonly Measured[], first: readonly Measured[]): readonly string[] => {
  const ratios = eachOf(own).map((micros, round) => micros / eachOf(first)[round]!)
  const cpu = cpuEachOf(own)
  const gateway = total(cpu) - servers.reduce((sum, server) => sum + cpu[server]!, 0)
  return [
    name,
    ...[gateway, ...servers.map((server) => cpu[server]!)].map(whole),
    median(ratios).toFixed(3),
    `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
    framesEachOf(own).toFixed(3),
    megabytes(Math.max(...own.map(({ bytes }) => bytes))),
  ]
}

/** CPU of an answer of each side, in the same seconds, its ratio to the first, and the frames of the log that it took. */
export const compareAtOnce = async (
  sides: readonly Side[],
  { rounds, warm, ...asked }: Omit<Asked, 'seconds'> & { readonly rounds: number; readonly warm: number },
): Promise<string> => {
  await Promise.all(sides.map((side) => side.load({ ...asked, requests: warm, seconds: endlessSeconds })))
  for (const { books } of sides) await books.settled()
  const measured = await measureRounds(sides, asked, rounds)
  const rows = sides.map(({ name }, place) => rowOf(name, measured[place]!, measured[0]!))
  return table(['', 'gateway, µs', 'NATS', 'PostgreSQL', 'all, ratio', 'rounds', 'frames', 'memory'], rows)
}
