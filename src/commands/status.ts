import type { Config } from '../config.ts'
import { onDatabase, openPlatform, tablesOf } from './platform.ts'
import { type Output, printRecords } from './report.ts'
import type { Runtime } from './runtime.ts'

/** How much the log holds, how far the tables have followed it, and how far it is sealed as the tables have it. */
export const status = async (config: Config, runtime: Runtime, output: Output): Promise<void> => {
  const onFatal = (fault: Error): void => {
    throw fault
  }
  const platform = await openPlatform(config, runtime, {
    role: 'operator',
    embedded: 'any',
    readOnly: true,
    onFatal,
  })
  try {
    const { database, place } = tablesOf(platform)
    const tables = await onDatabase(place.url, database.checkpoint())
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
  } finally {
    await platform.stop()
  }
}
