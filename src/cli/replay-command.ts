import type { Command } from 'commander'
import type { ArchiveSource } from '../adapters/archive/archive-source.ts'
import { assertContinues } from '../audit/archive.ts'
import type { Config } from '../config/config.ts'
import { ArchiveThenLog, followSource } from '../log/source-log.ts'
import type { ConfigOf } from './audit-command.ts'
import { openVerifiedArchive, type VerifiedArchiveOptions } from './check-archive.ts'
import { withDatabaseErrors } from './database-errors.ts'
import { type Platform, permittedEventTypes, requireTables, withPlatform } from './platform.ts'
import { withProgress } from './progress.ts'
import { publicKeyOption } from './public-keys.ts'
import { type ReplayParts, type ReplayReport, rebuildReadModels, UnknownTables } from './replay.ts'
import { CommandError, exitCodes, type OutputOptions, printRecords, UsageError } from './report.ts'
import { createRuntime, type Runtime } from './runtime.ts'

interface ReplayOptions extends VerifiedArchiveOptions {
  readonly swap: boolean
  readonly tables?: readonly string[]
  readonly archive?: string
}

const printReport = (
  { comparisons, sequence, equal, swapped }: ReplayReport,
  lastSequence: number,
  output: OutputOptions,
): void => {
  printRecords(
    comparisons.map(({ table, rows, differences, digest }) => ({
      table,
      rows,
      differences,
      at_sequence: sequence,
      sha256: digest,
    })),
    output,
  )
  for (const { table, columns, shown } of comparisons) {
    if (shown.length > 0) console.error(`${table} has the columns (${columns.join(',')})`)
    for (const { live, rebuilt } of shown)
      console.error(`${table}\n  live:    ${live ?? '(no row)'}\n  rebuilt: ${rebuilt ?? '(no row)'}`)
  }
  console.error(`compared at frame ${sequence}, the position of the live tables; the log ends at ${lastSequence}`)
  console.error(equal ? 'the rebuilt tables equal the live ones' : 'the rebuilt tables differ from the live ones')
  if (swapped) console.error('the rebuilt tables are in their place now')
}

/** Verified first, since tables must not be made from unsealed frames. Null where no archive is named. */
const archiveFor = async (config: Config, options: ReplayOptions): Promise<ArchiveSource | null> =>
  options.archive === undefined
    ? null
    : openVerifiedArchive(options.archive, () => config, options, 'nothing was rebuilt')

/** The archive, then the rest of the log. Throws CommandError where the log is shorter than the archive. */
const framesFrom = async (archive: ArchiveSource | null, { log }: Platform): Promise<ReplayParts['log']> => {
  if (archive === null) return log
  const [end, logEnd] = [await archive.lastSequence(), await log.lastSequence()]
  if (logEnd < end)
    throw new CommandError(
      `nothing was rebuilt: the log ends at ${logEnd}, the archive at ${end}; restore it first, with \`gateway restore\``,
    )
  await assertContinues(archive, log)
  return followSource(new ArchiveThenLog(archive, log), permittedEventTypes)
}

const tablesIn = (text: string): readonly string[] => {
  const names = text.split(',').map((name) => name.trim())
  if (names.some((name) => name === '')) throw new UsageError('--tables takes names with commas between them')
  return [...new Set(names)]
}

const replayOn = async (
  platform: Platform,
  archive: ArchiveSource | null,
  { swap, tables = [] }: ReplayOptions,
): Promise<ReplayReport> => {
  const log = await framesFrom(archive, platform)
  const { place } = requireTables(platform)
  return withProgress('replay', (onProgress, endProgress) =>
    rebuildReadModels({
      log,
      place,
      swap,
      tables,
      onProgress: (step) => {
        if (step.step === 'projected') onProgress(step.sequence, step.toSequence)
        else endProgress()
      },
    }),
  )
}

/** Exit code 0 when the rebuilt tables equal the live ones, else 1. */
const replayCommand = async (config: Config, runtime: Runtime, options: ReplayOptions): Promise<number> => {
  const archive = await archiveFor(config, options)
  try {
    return await withPlatform(config, runtime, {}, async (platform) => {
      const report = await replayOn(platform, archive, options)
      printReport(report, await platform.log.lastSequence(), options)
      return report.equal ? exitCodes.done : exitCodes.failed
    })
  } catch (fault) {
    throw fault instanceof UnknownTables ? new UsageError(fault.message) : fault
  }
}

export const registerReplay = (program: Command, configOf: ConfigOf): void => {
  program
    .command('replay')
    .description('rebuild the read models from the log, and compare every table with the live one')
    .option('--swap', 'put the rebuilt tables in the place of the live ones', false)
    .option(
      '--tables <names>',
      'compare, and swap, these alone: names with commas between them (all are rebuilt)',
      tablesIn,
    )
    .option('--archive <folder>', 'read the frames from an archive, and from the log only those behind its end')
    .addOption(publicKeyOption('archive'))
    .option('--json', 'one JSON object a line', false)
    .action(async (options: ReplayOptions, command: Command) => {
      const config = configOf(command)
      const replaying = replayCommand(config, createRuntime('warn'), options)
      const databaseUrl = config.external?.databaseUrl ?? null
      process.exitCode = await (databaseUrl === null ? replaying : withDatabaseErrors(databaseUrl, replaying))
    })
}
