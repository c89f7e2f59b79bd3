import type { Command } from 'commander'
import type { FrameSource } from '../audit/frames.ts'
import type { Verifier } from '../audit/note.ts'
import { restore } from '../audit/restore.ts'
import type { Verification } from '../audit/verify.ts'
import type { Config } from '../config.ts'
import { ArchiveSource } from '../infrastructure/archive/archive-source.ts'
import { openRawWriter } from '../infrastructure/nats/raw-writer.ts'
import type { ConfigOf } from './audit-command.ts'
import { check, checkArchive } from './check-archive.ts'
import { printFindings } from './findings-report.ts'
import { onServers, type Platform } from './platform.ts'
import { showing } from './progress.ts'
import { collect, verifiersFor } from './public-keys.ts'
import { CommandError, exitCodes, type Output, printRecords } from './report.ts'
import { createRuntime } from './runtime.ts'

interface Options extends Output {
  readonly publicKey: readonly string[]
}

/** Prints what was found; false where that is anything. */
const isClean = ({ findings, total }: Verification, output: Output): boolean => {
  printFindings(findings, total, output)
  return total === 0
}

const putBack = async (archive: FrameSource, { log, connect }: Platform, name: string): Promise<number> => {
  const connection = await connect('restore')
  try {
    return await showing('restore', (progress) =>
      restore({
        archive,
        log,
        writer: openRawWriter(connection, name),
        onProgress: (sequence, last) => progress.update(sequence, last),
      }),
    )
  } finally {
    await connection.close()
  }
}

const restoreInto = (config: Config, source: ArchiveSource, verifiers: readonly Verifier[], output: Output) =>
  onServers(config, createRuntime('warn'), {}, async (platform) => {
    const frames = await putBack(source, platform, config.log.name)
    const found = await check('verify', { source: platform.log, known: source.checkpoints }, verifiers)
    if (!isClean(found, output)) return exitCodes.failed
    if (output.json) printRecords([{ restored: frames, frames: found.frames, root: found.root }], output)
    else
      console.log(`${frames} frames were put back; the log is the archive's, to the last of its ${found.frames} frames`)
    return exitCodes.done
  })

const restoreArchive = async (config: Config, folder: string, options: Options): Promise<number> => {
  const verifiers = verifiersFor(options.publicKey, () => config)
  const source = await ArchiveSource.open(folder)
  if (source.manifest.size === 0) throw new CommandError(`${folder} holds no frames`)
  if (isClean(await checkArchive(source, verifiers), options)) return restoreInto(config, source, verifiers, options)
  console.error('the archive is not restored: it is not what was sealed')
  return exitCodes.failed
}

/** `gateway restore`: exit code 1 where the archive or the restored log is not what was sealed, or the log is not empty. */
export const registerRestore = (program: Command, configOf: ConfigOf): void => {
  program
    .command('restore <folder>')
    .description('put the frames of an archive into an empty log, at the same sequences; interrupted, run it again')
    .option('--public-key <key>', 'the log’s key, or a file with it (default: the configured one)', collect, [])
    .option('--json', 'one JSON object a line', false)
    .action(async (folder: string, options: Options, command: Command) => {
      process.exitCode = await restoreArchive(configOf(command), folder, options)
    })
}
