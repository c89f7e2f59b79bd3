import { join } from 'node:path'
import type { Command } from 'commander'
import type { ArchiveSource } from '../adapters/archive/archive-source.ts'
import { openRawWriter } from '../adapters/nats/raw-writer.ts'
import { restoreLog } from '../audit/restore.ts'
import { passVerified } from '../audit/snapshots.ts'
import type { Config } from '../config/config.ts'
import { snapshotFormat } from '../domain/ledger/snapshot.ts'
import { openDataFolder } from '../embedded/folder-lock.ts'
import { faultText } from '../errors/gateway-error.ts'
import type { FrameSource } from '../log/raw-frames.ts'
import type { ConfigOf } from './audit-command.ts'
import { isBackup, prepareRestore } from './backup-command.ts'
import { openVerifiedArchive, type VerifiedArchiveOptions, verifyWithProgress } from './check-archive.ts'
import { printFindings } from './findings-report.ts'
import { type Platform, removeSnapshotsBeyond, withPlatform } from './platform.ts'
import { withProgress } from './progress.ts'
import { publicKeyOption, resolveVerifiers } from './public-keys.ts'
import { CommandError, exitCodes, printRecords } from './report.ts'
import { createRuntime } from './runtime.ts'

const restoreFrames = async (archive: FrameSource, { log, connect }: Platform, name: string): Promise<number> => {
  const connection = await connect('restore')
  try {
    return await withProgress('restore', (onProgress) =>
      restoreLog({ archive, log, writer: openRawWriter(connection, name), onProgress }),
    )
  } finally {
    await connection.close()
  }
}

/** A sealer does not extend a checkpoint of an unknown key. */
const keyHint = ({ external, dataFolder }: Config): string => {
  const bring =
    external === null
      ? `bring audit/signing-key of the old data folder to ${join(dataFolder, 'audit')}`
      : 'configure the old `audit.signing_key`'
  return `sealing continues only with the key that signed the archive: ${bring} before the gateway starts, or name the old public key in \`audit.previous_public_keys\`; else nothing new is sealed`
}

/** The sequence of the snapshot that was put back; null where there is none that this release reads. */
const restoreSnapshot = async ({ snapshots }: ArchiveSource, platform: Platform): Promise<number | null> => {
  const [head] = await snapshots.list()
  if (head === undefined || head.format !== snapshotFormat) return null
  try {
    await platform.snapshots.write(head.sequence, passVerified(snapshots.read(head), head))
    return head.sequence
  } catch (fault) {
    console.error(`the archived snapshot was not put back: ${faultText(fault)}`)
    return null
  }
}

const restoreInto = (config: Config, source: ArchiveSource, options: VerifiedArchiveOptions): Promise<number> => {
  if (config.external === null) openDataFolder(config.dataFolder)
  return withPlatform(config, createRuntime('warn'), {}, async (platform) => {
    const verifiers = resolveVerifiers(options.publicKey, () => config)
    const frames = await restoreFrames(source, platform, config.log.name)
    const found = await verifyWithProgress('verify', { source: platform.log, known: source.checkpoints }, verifiers)
    printFindings(found.findings, found.total, options)
    if (found.total > 0) return exitCodes.failed
    await removeSnapshotsBeyond(platform, found.frames)
    const snapshot = await restoreSnapshot(source, platform)
    if (options.json) printRecords([{ restored: frames, frames: found.frames, root: found.root, snapshot }], options)
    else {
      console.log(`${frames} frames were put back; the log is the archive's, to the last of its ${found.frames} frames`)
      console.log(
        snapshot === null
          ? 'no snapshot was put back: the first start replays the log'
          : `the snapshot of sequence ${snapshot} was put back: the first start begins at frame ${snapshot + 1}`,
      )
    }
    return exitCodes.done
  })
}

const restoreArchive = async (config: Config, folder: string, options: VerifiedArchiveOptions): Promise<number> => {
  const source = await openVerifiedArchive(folder, () => config, options, 'nothing was restored')
  if (source.manifest.size === 0) throw new CommandError(`${folder} holds no frames`)
  return restoreInto(config, source, options)
}

/** `gateway restore`: exit code 1 where the archive or the restored log fails verification, or the log is not empty. */
export const registerRestore = (program: Command, configOf: ConfigOf): void => {
  program
    .command('restore <folder>')
    .description(
      'put the frames of an archive, or a backup with its keys, into an empty log, at the same sequences; interrupted, run it again',
    )
    .addOption(publicKeyOption('log'))
    .option('--json', 'one JSON object a line', false)
    .action(async (folder: string, options: VerifiedArchiveOptions, command: Command) => {
      const config = configOf(command)
      const backup = isBackup(folder)
      const archive = backup ? await prepareRestore(config, folder) : folder
      process.exitCode = await restoreArchive(config, archive, options)
      if (!backup && process.exitCode === exitCodes.done) console.error(keyHint(config))
    })
}
