import type { Config } from '../config.ts'
import { openPlatform, tablesOf } from './platform.ts'
import { type Output, printRecords } from './report.ts'
import type { Runtime } from './runtime.ts'

/** Where the log ends and how far the tables have followed it. */
export const status = async (config: Config, runtime: Runtime, output: Output): Promise<void> => {
  const onFatal = (fault: Error): void => {
    throw fault
  }
  const platform = await openPlatform(config, runtime, { role: 'operator', embedded: 'any', onFatal })
  try {
    const tables = (await tablesOf(platform).database.checkpoint()) ?? 0
    const last = await platform.log.lastSequence()
    printRecords([{ log: config.log.name, last_frame: last, tables_at_frame: tables, behind: last - tables }], output)
  } finally {
    await platform.stop()
  }
}
