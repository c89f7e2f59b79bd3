import { type Command, InvalidArgumentError } from 'commander'
import { openCheckpointNote, type PublishedCheckpoint } from '../audit/published-checkpoints.ts'
import { RollbackRefused, rollBack } from '../audit/rollback.ts'
import type { Config } from '../config/config.ts'
import { faultText } from '../errors/gateway-error.ts'
import type { ConfigOf } from './audit-command.ts'
import { headStores } from './audit-keys.ts'
import { resolveOperator } from './operator.ts'
import { removeSnapshotsBeyond, withPlatform } from './platform.ts'
import { withProgress } from './progress.ts'
import { collectOption } from './public-keys.ts'
import { readPublishedCheckpoints } from './published-checkpoints.ts'
import { CommandError, type OutputOptions, printRecords, UsageError } from './report.ts'
import { createRuntime } from './runtime.ts'
import { askWitnesses } from './witness-options.ts'

interface Options extends OutputOptions {
  readonly to: number
  readonly reason: string
  readonly checkpoint: readonly string[]
}

const reasonCharactersMax = 500

const parseSize = (text: string): number => {
  const size = Number(text)
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(size))
    throw new InvalidArgumentError('a size is a number of frames')
  return size
}

const parseReason = (text: string): string => {
  const reason = text.trim()
  if (reason.length === 0 || reason.length > reasonCharactersMax)
    throw new InvalidArgumentError(`a reason has 1 to ${reasonCharactersMax} characters`)
  return reason
}

/** What was signed under the log's earlier names, as it is named and as witnesses know it. Throws UsageError for what is not trusted. */
const readPublished = async (
  { audit }: Config,
  files: readonly string[],
): Promise<Parameters<typeof rollBack>[0]['published']> => {
  const { previous, witnesses } = audit
  const named = files.flatMap(readPublishedCheckpoints)
  if (previous.length === 0 && named.length > 0)
    throw new UsageError(
      '--checkpoint is of the log under its earlier name: its key belongs in `audit.previous_public_keys`',
    )
  const ofEach = [...Map.groupBy(previous, ({ name }) => name).values()]
  const cosigned = witnesses === undefined ? [] : await Promise.all(ofEach.map((keys) => askWitnesses(witnesses, keys)))
  return [...named, ...cosigned.flat()].map(({ note, place }: PublishedCheckpoint) => {
    try {
      return openCheckpointNote(note, previous)
    } catch (fault) {
      throw new UsageError(`${place} holds a checkpoint that is not trusted: ${faultText(fault)}`)
    }
  })
}

const rollBackLog = async (
  config: Config,
  { to: size, reason, checkpoint, json }: Options,
  actor: string,
): Promise<void> => {
  const published = await readPublished(config, checkpoint)
  await withPlatform(config, createRuntime('warn'), {}, async ({ log, tables, snapshots }) => {
    const { origin } = config.audit
    try {
      const previous = await withProgress('roll back', (onProgress) =>
        rollBack({
          source: log,
          append: (fact) => log.append([fact]),
          stores: headStores(config, tables),
          ...{ published, origin, size, reason, actor },
          onProgress,
        }),
      )
      await removeSnapshotsBeyond({ snapshots }, size)
      printRecords([{ size, origin, previous_size: previous.size, previous_origin: previous.origin }], { json })
    } catch (fault) {
      if (fault instanceof RollbackRefused) throw new CommandError(fault.message, { cause: fault })
      throw fault
    }
  })
}

export const registerRollback = (audit: Command, configOf: ConfigOf): void => {
  audit
    .command('rollback')
    .description(
      'go back to an earlier size of the log on purpose, as after restoring an older archive; recorded in the log for ever',
    )
    .requiredOption('--to <size>', 'how many frames of what was signed are kept', parseSize)
    .requiredOption('--reason <text>', 'why, for the record', parseReason)
    .option(
      '--checkpoint <file>',
      'a checkpoint of what was signed, or the manifest of an archive, where the state of the sealing is older; may be repeated',
      collectOption,
      [],
    )
    .option('--json', 'one JSON object a line', false)
    .action((options: Options, command: Command) =>
      rollBackLog(
        configOf(command),
        options,
        resolveOperator(command.optsWithGlobals<{ readonly actor?: string }>().actor),
      ),
    )
}
