/** `make stops`: how long the largest bodies that are accepted stop the main thread of a gateway. */
import t from 'tap'
import { median } from '../bench/figures.ts'
import { megabytes, table, whole } from '../bench/table.ts'
import { type Shape, shapes } from './shapes.ts'
import { type Stop, type StopsPlace, startStopsPlace, type Way, waysOf } from './stops.ts'

/** On a quiet machine. */
const msMax = Number(process.env['STOPS_MS'] ?? 60)
const rounds = Number(process.env['STOPS_ROUNDS'] ?? 3)
const only = process.env['STOPS_ONLY'] ?? ''

const nameOf = ({ surface, name }: Shape, way: Way): string => `${surface}, ${name}: ${way}`

/** The median of the rounds, since a collection falls into one or the other. */
const measureRounds = async (place: StopsPlace, shape: Shape, way: Way): Promise<Stop> => {
  const stops: Stop[] = []
  for (let round = 0; round < rounds; round += 1) stops.push(await place.measure(shape, way))
  return { ...stops[0]!, cpuMs: median(stops.map(({ cpuMs }) => cpuMs)), ms: median(stops.map(({ ms }) => ms)) }
}

t.test('stops', { timeout: 3_600_000 }, async (t) => {
  const place = await startStopsPlace(t)
  const cases = shapes.flatMap((shape) => waysOf(shape).map((way) => [shape, way, nameOf(shape, way)] as const))
  const rows: string[][] = []
  for (const [shape, way, name] of cases.filter((each) => new RegExp(only).test(each[2]))) {
    const { cpuMs, ms, status, bytes } = await measureRounds(place, shape, way)
    rows.push([name, String(status), megabytes(bytes), `${whole(cpuMs)} ms`, `${whole(ms)} ms`])
    t.ok(cpuMs <= msMax, `${name}: ${whole(cpuMs)} ms`)
  }
  console.error(table(['body', 'status', 'size', 'longest turn, CPU', 'longest turn'], rows))
})
