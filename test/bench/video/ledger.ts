import type { Database } from '../../../src/adapters/postgres/database.ts'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import type { Installation } from '../installation.ts'
import { whole } from '../table.ts'
import { foldLog } from './accounts.ts'
import { picosPerTask, tenthsOfUnitsPerTask } from './price.ts'
import type { VendorCount } from './vendor.ts'

/** What the tables say of tasks and wallets. */
interface Tabled {
  readonly tasks: number
  readonly openTasks: number
  readonly succeeded: number
  readonly heldPicos: bigint
  readonly chargedPicos: bigint
}

const readTables = async ({ db }: Database): Promise<Tabled> => {
  const tasks = await db
    .selectFrom('tasks')
    .select(({ fn }) => ['status', fn.countAll<bigint>().as('count')] as const)
    .groupBy('status')
    .execute()
  const { held, charges } = await db
    .selectFrom('wallets')
    .select(({ fn }) => [fn.sum<string>('held').as('held'), fn.sum<string>('charges').as('charges')])
    .executeTakeFirstOrThrow()
  const countOf = (...statuses: readonly string[]): number =>
    tasks.filter(({ status }) => statuses.includes(status)).reduce((sum, { count }) => sum + Number(count), 0)
  return {
    tasks: countOf('QUEUED', 'SUBMITTED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE'),
    openTasks: countOf('QUEUED', 'SUBMITTED', 'IN_PROGRESS'),
    succeeded: countOf('SUCCESS'),
    heldPicos: parseUsd(held),
    chargedPicos: parseUsd(charges),
  }
}

export const countOpenTasks = async (database: Database): Promise<number> => (await readTables(database)).openTasks

/** What was found, and one line for each figure that is not what it must be. */
export interface Checked {
  readonly text: string
  readonly differences: readonly string[]
}

const unless = (holds: boolean, difference: string): readonly string[] => (holds ? [] : [difference])

const usd = (picos: bigint): string => `$${formatUsd(picos)}`

/** While tasks are open: every accepted submit is a task with its hold, in the log and in the tables. */
export const checkHeld = async (
  installation: Installation,
  database: Database,
  accepted: number,
  countAtVendor: () => Promise<VendorCount>,
): Promise<Checked> => {
  const [folded, tabled, vendor] = [await foldLog(installation), await readTables(database), await countAtVendor()]
  const ended = accepted - folded.openTasks
  const heldPicos = BigInt(folded.openTasks) * picosPerTask
  return {
    text: `${whole(accepted)} submits accepted, ${whole(folded.openTasks)} open, ${usd(heldPicos)} held`,
    differences: [
      ...unless(tabled.tasks === accepted, `${tabled.tasks} tasks in the tables`),
      ...unless(ended <= vendor.made, `${ended} tasks that ended, of ${vendor.made} that the vendor has`),
      ...unless(folded.heldPicos === heldPicos, `${usd(folded.heldPicos)} held`),
      ...unless(folded.holdsPicos === folded.heldPicos, `holds of ${usd(folded.holdsPicos)} together`),
      ...unless(folded.chargedPicos === BigInt(ended) * picosPerTask, `${usd(folded.chargedPicos)} charged`),
    ],
  }
}

/** When all have ended: nothing is held, and what was charged is what the vendor itself counted. */
export const checkSettled = async (
  installation: Installation,
  database: Database,
  accepted: number,
  vendor: VendorCount,
): Promise<Checked> => {
  const [folded, tabled] = [await foldLog(installation), await readTables(database)]
  const expectedPicos = (BigInt(vendor.tenthsOfUnits) * picosPerTask) / tenthsOfUnitsPerTask
  return {
    text: `${whole(accepted)} tasks, ${usd(expectedPicos)}`,
    differences: [
      ...unless(vendor.made === accepted, `${vendor.made} tasks at the vendor`),
      ...unless(tabled.succeeded === accepted, `${tabled.succeeded} that succeeded in the tables`),
      ...unless(folded.openTasks === 0 && tabled.openTasks === 0, `${tabled.openTasks} open`),
      ...unless(folded.heldPicos === 0n && tabled.heldPicos === 0n, `${usd(folded.heldPicos)} held`),
      ...unless(folded.chargedPicos === expectedPicos, `a fold of the log charged with ${usd(folded.chargedPicos)}`),
      ...unless(tabled.chargedPicos === expectedPicos, `wallets charged with ${usd(tabled.chargedPicos)}`),
    ],
  }
}
