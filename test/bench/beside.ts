/**
 * `make bench-beside`: the gateways of several trees of this repository at once, under the same load, and what an answer costs
 * each. They share whatever else the machine does, so that a few hundredths show, which get lost between loads in turn.
 */
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { LoadResult } from './asking.ts'
import { type BenchProcess, type ServerAddress, startProcess } from './child.ts'
import { type Cpu, cpuEachOf, cpuOf, spent, total } from './cpu.ts'
import { median } from './figures.ts'
import { startGateway } from './gateway.ts'
import type { Gateway } from './installation.ts'
import { type Books, countAnswered, ledgerLine } from './ledger.ts'
import type { Load } from './load.ts'
import { benchModel } from './price.ts'
import { numberOf, placeOptions, progress, runToEnd, temporaryFolder } from './run.ts'
import { table, whole } from './table.ts'

const { values } = parseArgs({
  options: {
    tree: { type: 'string', multiple: true, default: ['here=.'] }, // The first is what the others are compared with.
    rounds: { type: 'string', default: '6' },
    requests: { type: 'string', default: '1000' }, // Of each gateway in a round.
    warm: { type: 'string', default: '5000' }, // Before the first.
    connections: { type: 'string', default: '64' },
    stream: { type: 'boolean', default: false },
    keyed: { type: 'boolean', default: false }, // With an idempotency key each.
    ...placeOptions,
  },
})

interface Side {
  readonly name: string
  readonly gateway: Gateway
  readonly books: Books
  readonly load: BenchProcess
  readonly measured: { readonly result: LoadResult; readonly cpu: Cpu }[]
  delivered: number
  ledger(): Promise<string>
}

type Stack = AsyncDisposableStack

const startSide = async (given: string, upstreamUrl: string, stack: Stack): Promise<Side> => {
  const [name = '', place = ''] = given.split('=')
  const bench = join(resolve(place), 'test/bench')
  const { install }: typeof import('./installation.ts') = await import(join(bench, 'installation.ts'))
  const { openBooks, reconcile }: typeof import('./ledger.ts') = await import(join(bench, 'ledger.ts'))
  const folder = await temporaryFolder(values.folder, stack)
  const gateway = stack.adopt(await startGateway(install(folder, upstreamUrl, name)), (each) => each.stop())
  const { books } = await openBooks(gateway, stack)
  const load = stack.adopt(startProcess('load.ts'), (each) => each.stop())
  const ledger = async () =>
    ledgerLine(await reconcile(books, gateway, await countAnswered(upstreamUrl, name), side.delivered))
  const side: Side = { name, gateway, books, load, measured: [], delivered: 0, ledger }
  return side
}

const endless = 3_600

const loadSide = async (side: Side, requests: number): Promise<LoadResult> => {
  const { url, key } = side.gateway
  const { stream, keyed } = values
  const connections = numberOf(values.connections)
  const asked: Load = {
    ...{ url, key, format: 'chat', model: benchModel, stream, keyed },
    ...{ connections, requests, seconds: endless },
  }
  const result = await side.load.ask<LoadResult>(asked)
  side.delivered += result.answers
  return result
}

const measureRound = async (sides: readonly Side[]): Promise<void> => {
  const before = sides.map(({ gateway }) => cpuOf(gateway))
  const results = await Promise.all(sides.map((side) => loadSide(side, numberOf(values.requests))))
  for (const { books } of sides) await books.settled()
  for (const [place, { gateway, measured }] of sides.entries())
    measured.push({ result: results[place]!, cpu: spent(before[place]!, cpuOf(gateway)) })
}

const eachOf = ({ measured }: Side): readonly number[] => measured.map(({ cpu, result }) => total(cpu) / result.answers)

const rowOf = (side: Side, first: Side): readonly string[] => {
  const ratios = eachOf(side).map((micros, round) => micros / eachOf(first)[round]!)
  const cpu = cpuEachOf(side.measured)
  return [
    side.name,
    ...['gateway', 'nats', 'postgres'].map((name) => whole(cpu[name]!)),
    median(ratios).toFixed(3),
    `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
  ]
}

console.log(
  await runToEnd(async (stack) => {
    const upstream = stack.adopt(startProcess('upstream.ts'), (each) => each.stop())
    const { url } = await upstream.ask<ServerAddress>()
    const sides: Side[] = []
    for (const tree of values.tree) sides.push(await startSide(tree, url, stack))
    await Promise.all(sides.map((side) => loadSide(side, numberOf(values.warm))))
    for (const { books } of sides) await books.settled()
    for (let round = 1; round <= numberOf(values.rounds); round += 1) {
      await measureRound(sides)
      progress(`round ${round}: ${sides.map((side) => `${side.name} ${whole(eachOf(side).at(-1)!)} µs`).join(', ')}`)
    }
    const rows = sides.map((side) => rowOf(side, sides[0]!))
    const ledgers = []
    for (const side of sides) ledgers.push(`${side.name}: ${await side.ledger()}`)
    return [table(['', 'gateway, µs', 'NATS', 'PostgreSQL', 'all, ratio', 'rounds'], rows), '', ...ledgers].join('\n')
  }),
)
