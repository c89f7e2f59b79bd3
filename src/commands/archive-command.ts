import type { Command } from 'commander'
import { type ArchiveReport, archive } from '../audit/archive.ts'
import type { Verifier } from '../audit/note.ts'
import type { Config } from '../config.ts'
import { ArchiveFolder } from '../infrastructure/archive/archive-folder.ts'
import type { ConfigOf } from './audit-command.ts'
import { printFindings } from './findings-report.ts'
import { onServers } from './platform.ts'
import { showing } from './progress.ts'
import { collect, verifiersFor } from './public-keys.ts'
import { exitCodes, type Output, printRecords, UsageError } from './report.ts'
import { createRuntime } from './runtime.ts'

interface Options extends Output {
  readonly publicKey: readonly string[]
}

/** Checkpoints of an origin; an archive is of one log. */
const originOf = (verifiers: readonly Verifier[]): string => {
  const [origin, ...others] = new Set(verifiers.map(({ name }) => name))
  if (origin === undefined || others.length > 0) throw new UsageError('the public keys are of different logs')
  return origin
}

const archiveLog = async (config: Config, folder: string, verifiers: readonly Verifier[]): Promise<ArchiveReport> => {
  const target = await ArchiveFolder.open(folder, originOf(verifiers))
  try {
    return await onServers(config, createRuntime('warn'), { readOnly: true }, ({ log }) =>
      showing('archive', (progress) =>
        archive({
          source: log,
          target,
          verifiers,
          onProgress: (sequence, last) => progress.update(sequence, last),
        }),
      ),
    )
  } finally {
    await target.close()
  }
}

const printReport = (
  folder: string,
  { from, to, lastSequence, findings, total }: ArchiveReport,
  output: Output,
): void => {
  printFindings(findings, total, output)
  if (output.json) {
    printRecords([{ archive: folder, from, to, log_ends_at: lastSequence, findings: total }], output)
    return
  }
  console.log(to === from ? 'nothing new is sealed' : `frames ${from + 1} to ${to} were archived`)
  console.log(`${folder} holds frames 1 to ${to}; the log ends at ${lastSequence}`)
}

/** `gateway archive`: exit code 1 where the log does not go on as it was archived, or holds checkpoints that are not believed. */
export const registerArchive = (program: Command, configOf: ConfigOf): void => {
  program
    .command('archive <folder>')
    .description('copy what is sealed of the log to a folder, frame by frame as it was stored; run again, it goes on')
    .option('--public-key <key>', 'the log’s key, or a file with it (default: the configured one)', collect, [])
    .option('--json', 'one JSON object a line', false)
    .action(async (folder: string, options: Options, command: Command) => {
      const config = configOf(command)
      const report = await archiveLog(
        config,
        folder,
        verifiersFor(options.publicKey, () => config),
      )
      printReport(folder, report, options)
      process.exitCode = report.total === 0 ? exitCodes.done : exitCodes.failed
    })
}
