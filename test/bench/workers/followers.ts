/** What the load of one process costs the workers beside it, which only follow the log. */
import type { LoadResult } from '../asking.ts'
import type { BenchProcess } from '../child.ts'
import { cpuOf, spent, total } from '../cpu.ts'
import { median } from '../figures.ts'
import { startGateway } from '../gateway.ts'
import { type Gateway, type Installation, install } from '../installation.ts'
import { type Books, openBooks } from '../ledger.ts'
import type { Load } from '../load.ts'
import { benchModel } from '../price.ts'
import { progress, temporaryFolder } from '../run.ts'
import { table, whole } from '../table.ts'

export interface FollowersAsked {
  /** Numbers of workers beside the process with the load. */
  readonly followers: readonly number[]
  readonly connections: readonly number[]
  readonly seconds: number
  readonly rounds: number
  readonly folder: string
}

interface Side {
  readonly followers: number
  readonly gateway: Gateway
  readonly books: Books
}

interface Measured {
  readonly followers: number
  readonly connections: number
  readonly perSecond: number
  /** Of an answer. */
  readonly loadedMicros: number
  readonly followerMicros: number
}

const followerName = (index: number): string => `follower ${index + 1}`

const startFollower = async (installation: Installation, stack: AsyncDisposableStack): Promise<number> => {
  const { pid, says } = stack.adopt(installation.start('serve', '--role', 'edge,proxy'), (each) => each.stop())
  await says(/ answers at /)
  return pid
}

const startSide = async (
  followers: number,
  upstreamUrl: string,
  folder: string,
  stack: AsyncDisposableStack,
): Promise<Side> => {
  const installation = install(await temporaryFolder(folder, stack), upstreamUrl, `followers-${followers}`)
  const gateway = stack.adopt(await startGateway(installation), (each) => each.stop())
  const pids: Record<string, number> = { ...gateway.pids }
  for (let index = 0; index < followers; index += 1)
    pids[followerName(index)] = await startFollower(installation, stack)
  return { followers, gateway: { ...gateway, pids }, books: (await openBooks(gateway, stack)).books }
}

const measure = async (
  load: BenchProcess,
  { followers, gateway, books }: Side,
  connections: number,
  seconds: number,
): Promise<Measured> => {
  const before = cpuOf(gateway)
  const { url, key } = gateway
  const asked: Load = { url, key, format: 'chat', model: benchModel, stream: false, connections, seconds }
  const { answers, perSecond } = await load.ask<LoadResult>(asked)
  await books.settled()
  const cpu = spent(before, cpuOf(gateway))
  const followed = Array.from({ length: followers }, (_, index) => cpu[followerName(index)]!)
  const followedMicros = followed.reduce((sum, micros) => sum + micros, 0)
  progress(`whole at ${connections}, ${followers} followers: ${whole(perSecond)}/s`)
  return {
    followers,
    connections,
    perSecond,
    loadedMicros: (total(cpu) - followedMicros) / answers,
    followerMicros: followers === 0 ? 0 : followedMicros / followers / answers,
  }
}

/** The first round warms up and is not among the figures; the order changes from round to round. */
export const measureFollowers = async (
  load: BenchProcess,
  upstreamUrl: string,
  { followers, connections, seconds, rounds, folder }: FollowersAsked,
  stack: AsyncDisposableStack,
): Promise<readonly Measured[]> => {
  const sides: Side[] = []
  for (const each of [0, ...followers]) sides.push(await startSide(each, upstreamUrl, folder, stack))
  const all: Measured[] = []
  for (let round = 0; round <= rounds; round += 1)
    for (const each of connections)
      for (const place of sides.keys()) {
        const measured = await measure(load, sides[(place + round) % sides.length]!, each, seconds)
        if (round > 0) all.push(measured)
      }
  return connections.flatMap((each) =>
    sides.map((side) => {
      const own = all.filter((row) => row.followers === side.followers && row.connections === each)
      const over = (figure: (row: Measured) => number): number => median(own.map(figure))
      return {
        followers: side.followers,
        connections: each,
        perSecond: over((row) => row.perSecond),
        loadedMicros: over((row) => row.loadedMicros),
        followerMicros: over((row) => row.followerMicros),
      }
    }),
  )
}

export const followersTable = (rows: readonly Measured[]): string =>
  table(
    ['connections', 'followers', 'requests/s', 'CPU µs, the rest', 'CPU µs, a follower', 'of the rest'],
    rows.map(({ connections, followers, perSecond, loadedMicros, followerMicros }) => [
      String(connections),
      String(followers),
      whole(perSecond),
      whole(loadedMicros),
      whole(followerMicros),
      `${((100 * followerMicros) / loadedMicros).toFixed(1)} %`,
    ]),
    0,
  )
