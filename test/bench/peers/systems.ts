/** What is measured: this gateway, in one process and with workers, and each peer that is installed. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { startGateway } from '../gateway.ts'
import { install, payer } from '../installation.ts'
import { openBooks } from '../ledger.ts'
import type { Load } from '../load.ts'
import { benchModel } from '../price.ts'
import { cpuMicrosWithChildren, treeBytes } from '../procfs.ts'
import { temporaryFolder } from '../run.ts'
import type { Peer } from './peer.ts'
import { startPeer } from './start.ts'

export interface Bills {
  readonly count: number
  /** Their sum, 1e-12 USD. */
  readonly picos: bigint
  /** What the limit that admits requests has counted; null where it cannot be read. */
  readonly admittedPicos: bigint | null
}

export interface System {
  readonly name: string
  readonly address: Pick<Load, 'url' | 'key' | 'model' | 'headers'>
  /** CPU of all its processes since they began; NaN where Linux does not show it. */
  cpuMicros(): number
  bytes(): number
  /** Resolves when it has done what it put off in a load, or after a few seconds. */
  settled(): Promise<unknown>
  /** Of all requests up to now; null where it keeps none. */
  readonly bills: (() => Promise<Bills>) | null
}

const quietMs = 200
const quietMicros = 20_000 // Two ticks of the system's clock.
const settleMsMax = 3_000

const untilQuiet = async (cpuMicros: () => number): Promise<void> => {
  const untilMs = performance.now() + settleMsMax
  for (let before = cpuMicros(); performance.now() < untilMs; before = cpuMicros()) {
    await delay(quietMs)
    if (cpuMicros() - before <= quietMicros) return
  }
}

const sumOver = (pids: readonly number[], of: (pid: number) => number): number =>
  pids.reduce((sum, pid) => sum + of(pid), 0)

const figuresOf = (pids: readonly number[]): Pick<System, 'cpuMicros' | 'bytes'> => ({
  cpuMicros: () => sumOver(pids, (pid) => cpuMicrosWithChildren(pid) ?? Number.NaN),
  bytes: () => sumOver(pids, treeBytes),
})

/** By the name under which the upstream counts it. */
export const startOurs = async (
  name: string,
  words: readonly string[],
  upstreamUrl: string,
  parent: string,
  stack: AsyncDisposableStack,
): Promise<System> => {
  const installation = install(await temporaryFolder(parent, stack), upstreamUrl, name)
  const gateway = stack.adopt(await startGateway(installation, ...words), (each) => each.stop())
  const { books } = await openBooks(gateway, stack)
  return {
    name,
    address: { url: gateway.url, key: gateway.key, model: benchModel },
    ...figuresOf([gateway.pids['gateway']!]),
    settled: () => books.settled(),
    bills: async () => {
      const bills = await books.bills()
      return {
        count: bills.reduce((sum, { count }) => sum + count, 0),
        picos: bills.reduce((sum, { picos }) => sum + picos, 0n),
        admittedPicos: await books.chargedPicos(payer),
      }
    },
  }
}

const readBills = async (databaseUrl: string, bills: string, admitted: string | null): Promise<Bills> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  const rowOf = async (columns: string, query: string): Promise<Record<'bills' | 'picos', string>> => {
    const picos = 'coalesce(round(usd * 1e12), 0)::text as picos'
    const { rows } = await client.query(`select ${columns} ${picos} from (${query}) as found`)
    return rows[0]!
  }
  await client.connect()
  try {
    const billed = await rowOf('bills::text,', bills)
    const admittedPicos = admitted === null ? null : BigInt((await rowOf('', admitted)).picos)
    return { count: Number(billed.bills), picos: BigInt(billed.picos), admittedPicos }
  } finally {
    await client.end()
  }
}

export const startTheirs = async (
  peer: Peer,
  installed: string,
  upstreamUrl: string,
  parent: string,
  stack: AsyncDisposableStack,
): Promise<System> => {
  const { name, billsQuery, admittedQuery } = peer
  const folder = await temporaryFolder(parent, stack)
  const { place, asked, pids } = await startPeer(
    peer,
    { installed, folder, upstreamUrl: `${upstreamUrl}/${name}` },
    stack,
  )
  const { prefix = '', ...words } = asked
  const figures = figuresOf(pids)
  return {
    name,
    address: { url: `http://127.0.0.1:${place.port}${prefix}`, ...words },
    ...figures,
    settled: () => untilQuiet(figures.cpuMicros),
    bills: billsQuery === null ? null : () => readBills(place.databaseUrl, billsQuery, admittedQuery),
  }
}
