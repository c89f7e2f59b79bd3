import { creditWallet, issueKey, openWorkspace } from '../../../src/administration/account-changes.ts'
import { publishPrices } from '../../../src/administration/price-changes.ts'
import { openPlatform, openTail } from '../../../src/cli/platform.ts'
import { createRuntime, type Runtime } from '../../../src/cli/runtime.ts'
import { readConfig } from '../../../src/config/config.ts'
import { parseUsd } from '../../../src/domain/money.ts'
import type { LedgerTail } from '../../../src/log/ledger-tail.ts'
import type { Installation } from '../installation.ts'
import { throwFatal } from '../open-log.ts'

const creditUsd = '1000000'
const runtime: Runtime = createRuntime('silent')

/** What works on the log beside the gateway, as an operator's command does. It folds all that the log says: not while anything is measured. */
const withBooks = async <Found>(
  { config: file, dataFolder }: Pick<Installation, 'config' | 'dataFolder'>,
  work: (books: {
    readonly log: Parameters<typeof openWorkspace>[0]['log']
    readonly tail: LedgerTail
  }) => Promise<Found>,
): Promise<Found> => {
  const config = readConfig(process.env, { file, dataFolder, role: 'operator' })
  const platform = await openPlatform(config, runtime, { role: 'operator', embedded: 'running', onFatal: throwFatal })
  const tail = await openTail(platform)
  try {
    const books = { log: platform.log, tail }
    await publishPrices(books, config.prices)
    return await work(books)
  } finally {
    await tail.stop()
    await platform.stop()
  }
}

/** Opens so many workspaces with credit for the whole run, and gives their keys. */
export const openAccounts = (installation: Installation, count: number): Promise<readonly string[]> =>
  withBooks(installation, (books) =>
    Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const workspaceId = `bench-${index}`
        await openWorkspace(books, { workspaceId, name: workspaceId, creditLimitPicos: 0n })
        await creditWallet(books, workspaceId, { amountPicos: parseUsd(creditUsd), reference: 'bench', note: '' })
        return (await issueKey(books, { workspaceId, name: 'bench' }, runtime)).secret
      }),
    ),
  )

/** What the log says of money and tasks, folded anew. */
export interface Folded {
  readonly openTasks: number
  readonly heldPicos: bigint
  /** Σ what the open holds have left. */
  readonly holdsPicos: bigint
  readonly chargedPicos: bigint
}

const sumOf = (amounts: Iterable<bigint>): bigint => [...amounts].reduce((sum, picos) => sum + picos, 0n)

export const foldLog = (installation: Installation): Promise<Folded> =>
  withBooks(installation, async ({ tail: { ledger } }) => {
    const wallets = [...ledger.wallets.values()]
    return {
      openTasks: ledger.tasks.size,
      heldPicos: sumOf(wallets.map(({ heldPicos }) => heldPicos)),
      holdsPicos: sumOf(
        wallets.flatMap(({ holds }) => [...holds.values()].map(({ remainingPicos }) => remainingPicos)),
      ),
      chargedPicos: sumOf(wallets.map(({ chargesPicos }) => chargesPicos)),
    }
  })
