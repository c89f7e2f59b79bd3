import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Command } from 'commander'
import { ArchiveFolder } from '../adapters/archive/archive-folder.ts'
import { openHeadFile } from '../adapters/audit-files.ts'
import { GrowingTree } from '../audit/merkle.ts'
import { signedHeadOf } from '../audit/signed-head.ts'
import type { Config } from '../config/config.ts'
import { findEmbedded } from '../embedded/embedded.ts'
import { openDataFolder } from '../embedded/folder-lock.ts'
import { archiveLog, printReport } from './archive-command.ts'
import type { ConfigOf } from './audit-command.ts'
import { listLogVerifiers } from './audit-keys.ts'
import { cliLimits } from './command-limits.ts'
import { CommandError, exitCodes, type OutputOptions, UsageError } from './report.ts'

const privateFiles = [join('audit', 'signing-key'), join('audit', 'public-key.txt'), 'credentials.json']
const stateName = 'audit.state'
const logFolder = (backup: string): string => join(backup, 'log')

export const isBackup = (folder: string): boolean => existsSync(join(logFolder(folder), 'manifest.json'))

const requireEmbedded = ({ external }: Config): void => {
  if (external !== null)
    throw new UsageError('a backup is of the embedded servers: archive the log of others with `gateway archive`')
}

const copyPrivate = (from: string, to: string): void => {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  copyFileSync(from, to)
}

/** What was acknowledged before the command began is sealed within a second or so; alone, the last frame is the seal. */
const archiveAcknowledged = async (config: Config, folder: string): ReturnType<typeof archiveLog> => {
  const verifiers = listLogVerifiers(config)
  if (verifiers.length === 0)
    throw new CommandError('nothing was sealed on this data folder yet: start the gateway once')
  const isSealing = (await findEmbedded(config.dataFolder)) !== null
  const begun = await archiveLog(config, folder, verifiers)
  let report = begun
  for (let tries = 0; isSealing && report.to < begun.lastSequence - 1 && tries < cliLimits.backupTries; tries += 1) {
    await pause(cliLimits.backupRetryMs)
    report = await archiveLog(config, folder, verifiers)
  }
  return { ...report, from: begun.from }
}

/** As if the log had ended there: a sealer goes on from these frames, and from no fewer. */
const keepState = async (config: Config, backup: string): Promise<void> => {
  const archive = await ArchiveFolder.open(logFolder(backup), config.audit.origin)
  const { size, peaks } = archive.head
  await archive.close()
  await openHeadFile(join(backup, stateName)).replace(signedHeadOf(config.audit.origin, new GrowingTree(size, peaks)))
}

const backUp = async (config: Config, backup: string, output: OutputOptions): Promise<number> => {
  requireEmbedded(config)
  mkdirSync(backup, { recursive: true, mode: 0o700 })
  const report = await archiveAcknowledged(config, logFolder(backup))
  for (const name of privateFiles) {
    const file = join(config.dataFolder, name)
    if (existsSync(file)) copyPrivate(file, join(backup, name))
  }
  await keepState(config, backup)
  printReport(backup, report, output)
  return report.total + report.damaged.length === 0 ? exitCodes.done : exitCodes.failed
}

const differs = (one: string, other: string): boolean =>
  existsSync(other) && !readFileSync(one).equals(readFileSync(other))

/** The keys and the state of the sealing, before the log: what is half restored then, no sealer signs. */
export const prepareRestore = async (config: Config, backup: string): Promise<string> => {
  requireEmbedded(config)
  const { dataFolder, auditStateFile } = config
  if ((await findEmbedded(dataFolder)) !== null)
    throw new CommandError(`a gateway runs on ${dataFolder}: stop it, or name another folder with --data`)
  openDataFolder(dataFolder)
  const present = privateFiles.filter((name) => existsSync(join(backup, name)))
  const other = present.find((name) => differs(join(backup, name), join(dataFolder, name)))
  if (other !== undefined)
    throw new CommandError(
      `${join(dataFolder, other)} is not that of the backup: restore into a folder of its own with --data`,
    )
  for (const name of present) copyPrivate(join(backup, name), join(dataFolder, name))
  const state = await openHeadFile(join(backup, stateName)).read()
  if (state === null) throw new CommandError(`${join(backup, stateName)} is missing: the backup was not finished`)
  await openHeadFile(auditStateFile).advance(state)
  return logFolder(backup)
}

/** `gateway restore` puts it back. */
export const registerBackup = (program: Command, configOf: ConfigOf): void => {
  program
    .command('backup <folder>')
    .description(
      'back up the log of the embedded servers, their keys and the state of the sealing, while they run; again, it continues',
    )
    .option('--json', 'one JSON object a line', false)
    .action(async (folder: string, options: OutputOptions, command: Command) => {
      process.exitCode = await backUp(configOf(command), folder, options)
    })
}
