import type { Test } from 'tap'
import { requireTables } from '../../src/cli/platform.ts'
import { rebuildReadModels } from '../../src/cli/replay.ts'
import { until } from './clients.ts'
import type { Operator } from './gateway.ts'

/** Once the tables have caught up, a rebuild makes the same ones. Returns how many rows one of them has. */
export const checkRebuilt = async (
  t: Test,
  { log, platform }: Pick<Operator, 'log' | 'platform'>,
): Promise<(table: string) => number | undefined> => {
  const { database, place } = requireTables(platform)
  await until(async () => (await database.checkpoint()) === (await log.lastSequence()))
  const { equal, comparisons } = await rebuildReadModels({ log, place, swap: false })
  t.ok(equal, comparisons.map(({ table, rows }) => `${rows} ${table}`).join(', '))
  return (name) => comparisons.find(({ table }) => table === name)?.rows
}
