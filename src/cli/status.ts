import type { Config } from '../config/config.ts'
import { readModels } from '../projections/read-models.ts'
import { findBehind } from '../projections/versions.ts'
import { requireTables, withDatabaseErrors, withPlatform } from './platform.ts'
import { type OutputOptions, printRecords } from './report.ts'
import type { Runtime } from './runtime.ts'

export const printStatus = (config: Config, runtime: Runtime, output: OutputOptions): Promise<void> =>
  withPlatform(config, runtime, { readOnly: true }, async (platform) => {
    const { database, place } = requireTables(platform)
    const tables = await withDatabaseErrors(place.url, database.checkpoint())
    const sealedTo = (await database.lastSeal())?.size ?? 0
    const behind = tables === 0 ? [] : findBehind(await database.versions(), readModels)
    const { frames, bytes } = await platform.log.size()
    const record = {
      log: config.log.name,
      frames,
      bytes,
      tables_at_frame: tables,
      behind: frames - tables,
      read_models_behind: behind.map(({ name }) => name).join(',') || 'none',
      refilled_to_frame: behind.length === 0 ? null : await database.refillSequence(),
      sealed_to: sealedTo,
      unsealed: frames - sealedTo,
    }
    printRecords([record], output)
  })
