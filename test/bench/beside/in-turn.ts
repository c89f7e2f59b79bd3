import { endlessSeconds, type LoadResult } from '../asking.ts'
import { cpuOf, spent, total } from '../cpu.ts'
import { median } from '../figures.ts'
import { progress } from '../run.ts'
import { megabytes, table, whole } from '../table.ts'
import { type Asked, bytesOf, type Side } from './side.ts'

interface Measured {
  readonly result: LoadResult
  /** Of an answer, of all processes of the side. */
  readonly cpuMicros: number
  readonly bytes: number
}

export interface TurnsOptions extends Omit<Asked, 'connections' | 'requests'> {
  readonly rounds: number
  /** Answers of each side, before the first round. */
  readonly warm: number
  readonly connections: readonly number[]
}

const measure = async (side: Side, asked: Asked): Promise<Measured> => {
  const before = cpuOf(side.gateway)
  const result = await side.load(asked)
  const bytes = bytesOf(side)
  await side.books.settled()
  const cpuMicros = total(spent(before, cpuOf(side.gateway))) / result.answers
  const failures = JSON.stringify(result.failures)
  progress(
    `${side.name} at ${asked.connections}: ${whole(result.perSecond)}/s, ${whole(cpuMicros)} µs, ${megabytes(bytes)} ${failures}`,
  )
  return { result, cpuMicros, bytes }
}

const rowOf = (side: Side, connections: number, own: readonly Measured[], first: readonly Measured[]) => {
  const over = (figure: (measured: Measured) => number): number => median(own.map(figure))
  const ratio = (figure: (measured: Measured) => number): string =>
    median(own.map((each, round) => figure(each) / figure(first[round]!))).toFixed(2)
  const perSecond = ({ result }: Measured): number => result.perSecond
  const cpu = ({ cpuMicros }: Measured): number => cpuMicros
  return [
    side.name,
    ...[String(connections), whole(over(perSecond)), ratio(perSecond), whole(over(cpu)), ratio(cpu)],
    ...[over(({ result }) => result.p50Ms), over(({ result }) => result.p99Ms)].map((ms) => ms.toFixed(1)),
    megabytes(Math.max(...own.map(({ bytes }) => bytes))),
  ]
}

/** What each side serves with the machine to itself, one after the other in an order that changes from round to round. */
export const compareInTurn = async (sides: readonly Side[], options: TurnsOptions): Promise<string> => {
  const { rounds, warm, connections: loads, ...asked } = options
  const most = Math.max(...loads)
  for (const side of sides) await side.load({ ...asked, connections: most, requests: warm, seconds: endlessSeconds })
  const keyOf = ({ name }: Side, connections: number): string => `${name} ${connections}`
  const measured = new Map(
    loads.flatMap((connections) => sides.map((side) => [keyOf(side, connections), [] as Measured[]])),
  )
  const roundsOf = (side: Side, connections: number): Measured[] => measured.get(keyOf(side, connections))!
  for (let round = 0; round < rounds; round += 1)
    for (const connections of loads)
      for (const place of sides.keys()) {
        const side = sides[(place + round) % sides.length]!
        roundsOf(side, connections).push(await measure(side, { ...asked, connections }))
      }
  const rows = loads.flatMap((connections) =>
    sides.map((side) => rowOf(side, connections, roundsOf(side, connections), roundsOf(sides[0]!, connections))),
  )
  const head = ['', 'connections', 'requests/s', 'ratio', 'CPU µs each', 'ratio', 'p50 ms', 'p99 ms', 'memory']
  return table(head, rows, 1)
}
