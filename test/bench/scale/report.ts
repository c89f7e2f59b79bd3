/** The model of a whole gateway, by groups of its processes, and what follows from it. */
import { median } from '../figures.ts'
import { type Target, table, targetLine, whole } from '../table.ts'
import { type Cost, fitCost, fitGrouping, fitLine, framesOf, type Grouping, microsOf } from './model.ts'

export const groups = ['workers', 'background', 'nats', 'postgres'] as const
export type Group = (typeof groups)[number]

/** The supervisor starts its background process first. */
export const groupOf = (process: string): Group => {
  if (process === 'nats' || process === 'postgres') return process
  return process === 'process 1' || process === 'gateway' ? 'background' : 'workers'
}

/** One load on one configuration; CPU in microseconds of an answer. */
export interface Measured {
  readonly workers: number
  readonly connections: number
  readonly perSecond: number
  /** Of the log, of an answer. */
  readonly frames: number
  readonly bytes: number
  readonly micros: { readonly [G in Group]: number }
  readonly byProcess: Readonly<Record<string, number>>
  /** Of the clients and the upstream, which share the machine. */
  readonly clientMicros: number
}

export interface Model {
  readonly costs: { readonly [G in Group]: Cost }
  readonly grouping: Grouping
  /** Bytes of the log: of an answer, and of each frame. */
  readonly bytes: { readonly fixed: number; readonly slope: number }
  readonly clientMicros: number
  /** Cores that were busy, of all processes together. */
  readonly cores: number
}

const totalOf = (micros: Measured['micros']): number => groups.reduce((sum, group) => sum + micros[group], 0)

const busyConnectionsMin = 64 // With fewer the machine waits for disks at times.

export const modelOf = (points: readonly Measured[]): Model => {
  const busy = points.filter(({ connections }) => connections >= busyConnectionsMin)
  const costOf = (group: Group): Cost =>
    fitCost(points.map(({ workers, frames, micros }) => ({ workers, frames, micros: micros[group] })))
  return {
    costs: Object.fromEntries(groups.map((group) => [group, costOf(group)])) as Model['costs'],
    grouping: fitGrouping(
      points.map(({ workers, connections, frames }) => ({ connections: connections / workers, frames })),
    ),
    bytes: fitLine(points.map(({ frames, bytes }) => [frames, bytes])),
    clientMicros: median(busy.map(({ clientMicros }) => clientMicros)),
    cores: median(
      busy.map(({ perSecond, micros, clientMicros }) => (perSecond * (totalOf(micros) + clientMicros)) / 1e6),
    ),
  }
}

interface Configuration {
  readonly workers: number
  readonly connections: number
}

export interface Predicted {
  readonly frames: number
  readonly bytes: number
  readonly micros: Measured['micros']
  readonly perSecond: number
}

/** On the machine that the model was fitted on, where all share the cores. */
export const predict = (model: Model, { workers, connections }: Configuration): Predicted => {
  const frames = framesOf(model.grouping, connections / workers)
  const micros = Object.fromEntries(
    groups.map((group) => [group, microsOf(model.costs[group], { workers, frames })]),
  ) as Measured['micros']
  const { fixed, slope } = model.bytes
  const perSecond = (model.cores * 1e6) / (totalOf(micros) + model.clientMicros)
  return { frames, bytes: fixed + slope * frames, micros, perSecond }
}

export const costTable = (
  { costs, grouping, bytes, clientMicros, cores }: Model,
  points: readonly Measured[],
): string =>
  [
    table(
      ['workers', 'connections', 'requests/s', 'frames each', 'log bytes each', 'CPU µs each'],
      points.map(({ workers, connections, perSecond, frames, bytes: each, micros }) => [
        String(workers),
        String(connections),
        whole(perSecond),
        frames.toFixed(3),
        whole(each),
        whole(totalOf(micros)),
      ]),
      0,
    ),
    '',
    table(
      ['CPU µs', 'a request', 'a frame', 'a request, each other worker', 'a frame, each other worker'],
      groups.map((group) => {
        const { perRequest, perFrame, perRequestOfEachOther, perFrameOfEachOther } = costs[group]
        return [group, ...[perRequest, perFrame, perRequestOfEachOther, perFrameOfEachOther].map(whole)]
      }),
      1,
    ),
    `frames of an answer: ${grouping.factor.toFixed(2)} × connections of a worker ^ ${grouping.exponent.toFixed(2)}, at most 2; each is one synced write`,
    `bytes of the log: ${whole(bytes.fixed)} of an answer and ${whole(bytes.slope)} of a frame`,
    `clients and upstream: ${whole(clientMicros)} µs of an answer; ${cores.toFixed(2)} cores were busy`,
  ].join('\n')

export const rolesLine = ({ byProcess, connections, perSecond }: Measured): string =>
  `roles apart at ${connections} connections, ${whole(perSecond)}/s, CPU µs of an answer: ${Object.entries(byProcess)
    .map(([name, micros]) => `${name} ${whole(micros)}`)
    .join(', ')}`

const cellWorkers = [1, 2, 4, 8, 16]
const cellConnections = 64 // Of each worker.
const usedShare = 0.7 // Of a core, so that a burst finds room.
const wanted = 1e6

/** What one log carries where each process has a core of its own, and how many of them a million requests/s take. */
export const cellsTable = (model: Model): string =>
  table(
    ['workers', 'requests/s', 'limited by', 'cores', 'synced writes/s', 'log MB/s', 'cells for 1M/s', 'cores for 1M/s'],
    cellWorkers.map((workers) => {
      const { frames, bytes, micros } = predict(model, { workers, connections: workers * cellConnections })
      const ofWorkers = (workers * usedShare * 1e6) / micros.workers
      const ofBackground = (usedShare * 1e6) / micros.background
      const perSecond = Math.min(ofWorkers, ofBackground)
      const cores = (perSecond * totalOf(micros)) / 1e6 / usedShare
      const cells = Math.ceil(wanted / perSecond)
      return [
        String(workers),
        whole(perSecond),
        ofWorkers < ofBackground ? 'workers' : 'background',
        cores.toFixed(1),
        whole(perSecond * frames),
        ((perSecond * bytes) / 1e6).toFixed(1),
        whole(cells),
        whole(cells * cores),
      ]
    }),
    1,
  )

const tolerance = 0.15

/** One configuration, measured with those that the model was fitted to, and again beside the one that is compared. */
interface Reference {
  readonly before: Measured
  readonly after: Measured
}

/** What the machine itself changed meanwhile, as the reference shows it, is not the model's error. */
export const comparisonOf = (
  { workers, connections }: Configuration,
  predicted: Predicted,
  measured: Measured,
  { before, after }: Reference,
): string => {
  const target = (what: string, expected: number, found: number, shown: (value: number) => string): Target => {
    const off = found / expected - 1
    const text = `${shown(expected)} predicted, ${shown(found)} measured, ${(off * 100).toFixed(1)} % off`
    return { what, found: text, met: Math.abs(off) <= tolerance }
  }
  const slower = totalOf(after.micros) / totalOf(before.micros)
  const faster = after.perSecond / before.perSecond
  const inParts = (value: number): string => value.toFixed(3)
  return [
    `${workers} workers, ${connections} connections, within ${tolerance * 100} %; meanwhile the same answer of the reference cost ${slower.toFixed(2)} × the CPU, at ${faster.toFixed(2)} × as many a second:`,
    ...[
      target('CPU µs of an answer', totalOf(predicted.micros) * slower, totalOf(measured.micros), whole),
      target('requests/s', predicted.perSecond * faster, measured.perSecond, whole),
      target('frames of an answer', predicted.frames * (after.frames / before.frames), measured.frames, inParts),
      target('log bytes of an answer', predicted.bytes, measured.bytes, whole),
    ].map(targetLine),
  ].join('\n')
}
