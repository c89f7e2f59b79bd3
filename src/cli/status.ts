import type { Config } from '../config/config.ts'
import { requireTables, withDatabaseErrors, withPlatform } from './platform.ts'
import { type OutputOptions, printRecords } from './report.ts'
import type { Runtime } from './runtime.ts'

export const printStatus = (config: Config, runtime: Runtime, output: OutputOptions): Promise<void> =>
  withPlatform(config, runtime, { readOnly: true }, async (platform) => {
    const { database, place } = requireTables(platform)
    const tables = await withDatabaseErrors(place.url, database.checkpoint())
    const sealedTo = (await database.lastSeal())?.size ?? 0
    const { frames, bytes } = await platform.log.size()
    const record = {
      log: config.log.name,
      frames,
      bytes,
      tables_at_frame: tables,
      behind: frames - tables,
      sealed_to: sealedTo,
      unsealed: frames - sealedTo,
    }
    printRecords([record], output)
  })
