import type { Command } from 'commander'
import type { Database } from '../adapters/postgres/database.ts'
import type { Config } from '../config/config.ts'
import { logFormat } from '../events/log-format.ts'
import { readModels } from '../projections/read-models.ts'
import { findBehind } from '../projections/versions.ts'
import type { ConfigOf } from './audit-command.ts'
import { withDatabaseErrors } from './database-errors.ts'
import { resolveOperator } from './operator.ts'
import { requireTables, withPlatform } from './platform.ts'
import { type OutputOptions, printRecords } from './report.ts'
import { createRuntime } from './runtime.ts'
import { version } from './version.ts'

const permissionDenied = '42501'

/** What was signed last, since the tables may be behind; by the tables where the database has no state of the sealing, or none for its user. */
export const readSealedTo = async (database: Pick<Database, 'signedHead' | 'lastSeal'>): Promise<number> => {
  const head = await database
    .signedHead()
    .read()
    .catch((fault: { readonly code?: unknown }) => {
      if (fault.code === permissionDenied) return null
      throw fault
    })
  return (head ?? (await database.lastSeal()))?.size ?? 0
}

const printStatus = (config: Config, output: OutputOptions): Promise<void> =>
  withPlatform(config, createRuntime('warn'), { readOnly: true }, async (platform) => {
    const { database, place } = requireTables(platform)
    const tables = await withDatabaseErrors(place.url, database.checkpoint())
    const sealedTo = await readSealedTo(database)
    const behind = tables === 0 ? [] : findBehind(await database.versions(), readModels)
    const { frames, bytes } = await platform.log.size()
    const record = {
      log: config.log.name,
      frames,
      bytes,
      log_format: platform.log.format.number,
      tables_at_frame: tables,
      behind: frames - tables,
      read_models_behind: behind.map(({ name }) => name).join(',') || 'none',
      refilled_to_frame: behind.length === 0 ? null : await database.refillSequence(),
      sealed_to: sealedTo,
      unsealed: frames - sealedTo,
    }
    printRecords([record], output)
  })

interface UpgradeOptions extends OutputOptions {
  readonly finish: boolean
}

const upgrade = (config: Config, { finish, json }: UpgradeOptions, actor: string): Promise<void> =>
  withPlatform(config, createRuntime('warn'), { readOnly: !finish }, async ({ log }) => {
    if (finish && log.format.number < logFormat) await log.format.raise(actor)
    const { number } = log.format
    const isFinished = number === logFormat
    printRecords([{ release: version, log_format: number, format_of_release: logFormat, finished: isFinished }], {
      json,
    })
  })

export const registerStatus = (program: Command, configOf: ConfigOf): void => {
  program
    .command('status')
    .description('how much the log holds, and how far behind the tables are')
    .option('--json', 'one JSON object a line', false)
    .action((options: OutputOptions, command: Command) => printStatus(configOf(command), options))
  program
    .command('upgrade')
    .description("whether the upgrade to this release is finished: the log's format is that of the release then")
    .option('--finish', "raise the log's format: earlier releases cannot be started on it any more", false)
    .option('--json', 'one JSON object a line', false)
    .action((options: UpgradeOptions, command: Command) =>
      upgrade(
        configOf(command),
        options,
        resolveOperator(command.optsWithGlobals<{ readonly actor?: string }>().actor),
      ),
    )
}
