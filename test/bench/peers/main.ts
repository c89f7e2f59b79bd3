/**
 * `make bench-peers`: this gateway and each other gateway that is installed, in turn in the same rounds, with the CPU of all processes of
 * each; and then what each billed of what its upstream counted. Exits with 1 when this gateway's ledger is wrong.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { LoadResult } from '../asking.ts'
import { type BenchProcess, type ServerAddress, startProcess } from '../child.ts'
import { median } from '../figures.ts'
import { countAnswered } from '../ledger.ts'
import { picosPerAnswer } from '../price.ts'
import { numberOf, placeOptions, progress, runToEnd, writeJson } from '../run.ts'
import { whole } from '../table.ts'
import { bifrost } from './bifrost.ts'
import { gomodel } from './gomodel.ts'
import { hadrian } from './hadrian.ts'
import { litellm } from './litellm.ts'
import { newapi } from './newapi.ts'
import { portkey } from './portkey.ts'
import { type Audited, auditTable, type Row, rowTable } from './report.ts'
import { isInstalled } from './start.ts'
import { type System, startOurs, startTheirs } from './systems.ts'

const peers = [gomodel, bifrost, hadrian, newapi, portkey, litellm]
const ours: Readonly<Record<string, readonly string[]>> = { gateway: [], 'gateway-workers': ['--workers', '2'] }

const { values } = parseArgs({
  options: {
    installed: { type: 'string', default: 'out/peers' },
    only: { type: 'string' }, // Some names, with commas.
    seconds: { type: 'string', default: '2' },
    warm: { type: 'string', default: '8' }, // Seconds of each kind of load, before the first round.
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '1,64,256' }, // Of whole answers.
    streams: { type: 'string', default: '64' },
    ...placeOptions,
  },
})
const listOf = (text: string): readonly number[] => text.split(',').map(numberOf)
const names = [...Object.keys(ours), ...peers.map(({ name }) => name)]
const only = values.only?.split(',') ?? names
for (const name of only) if (!names.includes(name)) throw new Error(`not one of ${names.join(', ')}: ${name}`)
const options = {
  installed: values.installed,
  seconds: numberOf(values.seconds),
  warm: numberOf(values.warm),
  rounds: numberOf(values.rounds),
  cases: [
    ...listOf(values.connections).map((connections) => ({ stream: false, connections })),
    ...listOf(values.streams).map((connections) => ({ stream: true, connections })),
  ],
}
type Case = (typeof options.cases)[number]

interface Measured extends Case {
  readonly name: string
  readonly result: LoadResult
  readonly cpuMicros: number
  readonly bytes: number
}

/** A load that breaks off ends the process that makes it. */
class Loads {
  readonly #stack: AsyncDisposableStack
  #process: BenchProcess

  constructor(stack: AsyncDisposableStack) {
    this.#stack = stack
    this.#process = this.#start()
  }

  async run(load: object): Promise<LoadResult | null> {
    try {
      return await this.#process.ask<LoadResult>(load)
    } catch (fault) {
      progress(String(fault))
      this.#process = this.#start()
      return null
    }
  }

  #start(): BenchProcess {
    return this.#stack.adopt(startProcess('load.ts'), (each) => each.stop())
  }
}

const measure = async (loads: Loads, system: System, measured: Case, seconds: number): Promise<Measured | null> => {
  const before = system.cpuMicros()
  const result = await loads.run({ ...system.address, format: 'chat', ...measured, seconds })
  const bytes = system.bytes()
  await system.settled()
  if (result === null) return null
  const cpuMicros = (system.cpuMicros() - before) / result.answers
  const way = `${measured.stream ? 'streams' : 'whole answers'} at ${measured.connections}, ${system.name}`
  progress(`${way}: ${whole(result.perSecond)}/s, ${whole(cpuMicros)} µs ${JSON.stringify(result.failures)}`)
  return { ...measured, name: system.name, result, cpuMicros, bytes }
}

/** A warm-up comes first and is not among the figures; the order changes from round to round. */
const measureRounds = async (loads: Loads, systems: readonly System[]): Promise<readonly Measured[]> => {
  const all: Measured[] = []
  for (let round = 0; round <= options.rounds; round += 1)
    for (const each of round === 0 ? options.cases.slice(-2) : options.cases)
      for (const place of systems.keys()) {
        const system = systems[(place + round) % systems.length]!
        const measured = await measure(loads, system, each, round === 0 ? options.warm : options.seconds)
        if (round > 0 && measured !== null) all.push(measured)
      }
  return all
}

const rowsOf = (all: readonly Measured[], systems: readonly System[]): readonly Row[] =>
  options.cases.flatMap(({ stream, connections }) =>
    systems.map(({ name }) => {
      const own = all.filter((each) => each.name === name && each.stream === stream && each.connections === connections)
      const over = (figure: (measured: Measured) => number): number => median(own.map(figure))
      return {
        stream,
        connections,
        name,
        perSecond: over(({ result }) => result.perSecond),
        cpuMicros: over(({ cpuMicros }) => cpuMicros),
        p50Ms: over(({ result }) => result.p50Ms),
        p99Ms: over(({ result }) => result.p99Ms),
        bytes: Math.max(...own.map((each) => each.bytes)),
        failures: own.reduce((sum, { result }) => sum + Object.values(result.failures).reduce((a, b) => a + b, 0), 0),
      }
    }),
  )

const billsPollMs = 500
const unchangedMsMax = 8_000 // Longer than any of them holds rows or charges back.

/** Resolves when its bills are all there, or do not become more. */
const untilBilled = async ({ bills }: System, answered: number): Promise<void> => {
  if (bills === null) return
  let count = -1
  for (let sinceMs = performance.now(); performance.now() - sinceMs < unchangedMsMax; ) {
    const found = await bills()
    if (found.count >= answered) return
    if (found.count !== count) sinceMs = performance.now()
    count = found.count
    await delay(billsPollMs)
  }
}

/** Limits may count later than bills are written, so all are read once more after a while. */
const auditAll = async (systems: readonly System[], upstreamUrl: string): Promise<readonly Audited[]> => {
  const counted = new Map<System, number>()
  for (const system of systems) {
    const { chat: answered } = await countAnswered(upstreamUrl, system.name)
    counted.set(system, answered)
    await untilBilled(system, answered)
  }
  await delay(unchangedMsMax)
  return Promise.all(
    [...counted].map(async ([{ name, bills }, answered]) => {
      const expectedPicos = BigInt(answered) * picosPerAnswer('chat')
      return { name, answered, expectedPicos, bills: bills === null ? null : await bills() }
    }),
  )
}

const startAll = async (upstreamUrl: string, stack: AsyncDisposableStack): Promise<readonly System[]> => {
  const systems: System[] = []
  for (const [name, words] of Object.entries(ours))
    if (only.includes(name)) systems.push(await startOurs(name, words, upstreamUrl, values.folder, stack))
  for (const peer of peers.filter(({ name }) => only.includes(name)))
    if (!isInstalled(peer, options.installed)) progress(`${peer.name} is not installed: docs/peers.md`)
    else systems.push(await startTheirs(peer, options.installed, upstreamUrl, values.folder, stack))
  return systems
}

const report = await runToEnd(async (stack) => {
  const upstream = stack.adopt(startProcess('upstream.ts'), (each) => each.stop())
  const { url: upstreamUrl } = await upstream.ask<ServerAddress>()
  const systems = await startAll(upstreamUrl, stack)
  const rows = rowsOf(await measureRounds(new Loads(stack), systems), systems)
  const audited = await auditAll(systems, upstreamUrl)
  return { rows, audited }
})
console.log(`${rowTable(report.rows)}\n\n${auditTable(report.audited)}`)
if (values.json !== undefined) {
  const audited = report.audited.map(({ expectedPicos, bills, ...each }) => ({
    ...each,
    expectedPicos: String(expectedPicos),
    bills: bills && { count: bills.count, picos: String(bills.picos), admittedPicos: String(bills.admittedPicos) },
  }))
  await writeJson(values.json, { rows: report.rows, audited })
}
const isExact = ({ name, answered, expectedPicos, bills }: Audited): boolean =>
  !(name in ours) ||
  (bills?.count === answered && bills.picos === expectedPicos && bills.admittedPicos === expectedPicos)
process.exitCode = report.audited.every(isExact) ? 0 : 1
