import type { Command } from 'commander'
import { ArchiveFolder } from '../adapters/archive/archive-folder.ts'
import { type ArchiveReport, archiveSealedFrames } from '../audit/archive.ts'
import { archiveSnapshot } from '../audit/archive-snapshot.ts'
import type { IntegrityFinding } from '../audit/findings.ts'
import type { Verifier } from '../audit/note.ts'
import type { Config } from '../config/config.ts'
import { faultText } from '../errors/gateway-error.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { ConfigOf } from './audit-command.ts'
import { printFindings } from './findings-report.ts'
import { type Platform, withPlatform } from './platform.ts'
import { withProgress } from './progress.ts'
import { publicKeyOption, resolveVerifiers } from './public-keys.ts'
import { exitCodes, type OutputOptions, printRecords } from './report.ts'
import { createRuntime } from './runtime.ts'

interface Options extends OutputOptions {
  readonly publicKey: readonly string[]
}

interface Report extends ArchiveReport {
  /** The archived one's sequence; null where there is none. */
  readonly snapshot: number | null
  /** Archived before, and since missing or altered. */
  readonly damaged: readonly IntegrityFinding[]
}

/** Frames are worth archiving without a snapshot: it only spares the first start after a restore a replay. */
const archiveSnapshotOf = async (
  { log, snapshots: store }: Platform,
  target: ArchiveFolder,
  verifiers: readonly Verifier[],
): Promise<readonly IntegrityFinding[]> => {
  try {
    return await archiveSnapshot({ log, store, target, size: target.head.size, verifiers })
  } catch (fault) {
    console.error(`no snapshot was archived, those of the log cannot be read: ${faultText(fault)}`)
    return []
  }
}

/** New frames are archived even where the archive is damaged: they are safer there than nowhere. */
export const archiveLog = async (config: Config, folder: string, verifiers: readonly Verifier[]): Promise<Report> => {
  // A log that was rolled back had another name before: the first key is that of now.
  const target = await ArchiveFolder.open(folder, verifiers[0]!.name)
  try {
    const damaged = await target.damaged()
    return await withPlatform(config, createRuntime('warn'), { readOnly: true }, async (platform) => {
      const report = await withProgress('archive', (onProgress) =>
        archiveSealedFrames({ source: platform.log, target, verifiers, onProgress }),
      )
      const changed = await archiveSnapshotOf(platform, target, verifiers)
      const findings = [...report.findings, ...changed]
      const { sequence: snapshot = null } = (await target.findSnapshot()) ?? {}
      return { ...report, findings, total: report.total + changed.length, damaged, snapshot }
    })
  } finally {
    await target.close()
  }
}

export const printReport = (
  folder: string,
  { from, to, lastSequence, findings, total, damaged, snapshot }: Report,
  output: OutputOptions,
): void => {
  printFindings(damaged.slice(0, sharedLimits.verifyFindingsMax), damaged.length, output)
  printFindings(findings, total, output)
  if (damaged.length > 0)
    console.error(`\`gateway verify --archive ${folder}\` checks the contents too, and reports all damage`)
  if (output.json) {
    const record = { archive: folder, from, to, snapshot, log_ends_at: lastSequence, findings: total + damaged.length }
    printRecords([record], output)
    return
  }
  console.log(to === from ? 'nothing new is sealed' : `frames ${from + 1} to ${to} were archived`)
  const holds = damaged.length === 0 ? 'holds frames' : 'should hold frames'
  console.log(`${folder} ${holds} 1 to ${to}; the log ends at ${lastSequence}`)
  console.log(snapshot === null ? 'no snapshot is archived yet' : `the snapshot of sequence ${snapshot} is archived`)
}

/** Exit code 1 where the log contradicts the archive, a checkpoint is not trusted, or the archive is damaged. */
export const registerArchive = (program: Command, configOf: ConfigOf): void => {
  program
    .command('archive <folder>')
    .description('copy what is sealed of the log to a folder, frame by frame as stored; run it again to continue')
    .addOption(publicKeyOption('log'))
    .option('--json', 'one JSON object a line', false)
    .action(async (folder: string, options: Options, command: Command) => {
      const config = configOf(command)
      const report = await archiveLog(
        config,
        folder,
        resolveVerifiers(options.publicKey, () => config),
      )
      printReport(folder, report, options)
      process.exitCode = report.total + report.damaged.length === 0 ? exitCodes.done : exitCodes.failed
    })
}
