import { join, resolve } from 'node:path'
import type { LoadResult } from '../asking.ts'
import { type BenchProcess, startProcess } from '../child.ts'
import { startGateway } from '../gateway.ts'
import type { Gateway } from '../installation.ts'
import { type Books, countAnswered, ledgerLine } from '../ledger.ts'
import type { Load } from '../load.ts'
import { openBenchLog } from '../open-log.ts'
import { benchModel } from '../price.ts'
import { treeBytes } from '../procfs.ts'
import { temporaryFolder } from '../run.ts'

export type Asked = Pick<Load, 'stream' | 'keyed' | 'connections' | 'seconds' | 'requests'>

/** The gateway of one tree, with a load process of its own. */
export interface Side {
  readonly name: string
  readonly gateway: Gateway
  readonly books: Books
  load(asked: Asked): Promise<LoadResult>
  /** Of its log, so far. */
  frames(): Promise<number>
  ledger(): Promise<string>
}

/** Of all its processes, its servers included; what they share is counted once. */
export const bytesOf = ({ gateway }: Pick<Side, 'gateway'>): number => treeBytes(gateway.pids['gateway']!)

/** `name=path`, and after spaces what `serve` is given: `workers=. --workers auto`. */
export const startSide = async (
  given: string,
  { folder: parent, upstreamUrl }: { readonly folder: string; readonly upstreamUrl: string },
  stack: AsyncDisposableStack,
): Promise<Side> => {
  const [tree = '', ...words] = given.split(' ')
  const [name = '', place = ''] = tree.split('=')
  const bench = join(resolve(place), 'test/bench')
  const { install }: typeof import('../installation.ts') = await import(join(bench, 'installation.ts'))
  const { openBooks, reconcile }: typeof import('../ledger.ts') = await import(join(bench, 'ledger.ts'))
  const folder = await temporaryFolder(parent, stack)
  const gateway = stack.adopt(await startGateway(install(folder, upstreamUrl, name), ...words), (each) => each.stop())
  const { books, addresses } = await openBooks(gateway, stack)
  const { log } = stack.adopt(await openBenchLog(addresses, 'GATEWAY'), (each) => each.close())
  const child: BenchProcess = stack.adopt(startProcess('load.ts'), (each) => each.stop())
  const { url, key } = gateway
  let delivered = 0
  return {
    ...{ name, gateway, books },
    load: async (asked) => {
      const result = await child.ask<LoadResult>({ url, key, format: 'chat', model: benchModel, ...asked })
      delivered += result.answers
      return result
    },
    frames: () => log.lastSequence(),
    ledger: async () =>
      `${name}: ${ledgerLine(await reconcile(books, gateway, await countAnswered(upstreamUrl, name), delivered))}`,
  }
}
