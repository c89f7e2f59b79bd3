import { type Command, InvalidArgumentError } from 'commander'
import { RollbackRefused, rollBack } from '../audit/rollback.ts'
import type { Config } from '../config/config.ts'
import type { ConfigOf } from './audit-command.ts'
import { headStores } from './audit-keys.ts'
import { resolveOperator } from './operator.ts'
import { removeSnapshotsBeyond, withPlatform } from './platform.ts'
import { withProgress } from './progress.ts'
import { CommandError, type OutputOptions, printRecords } from './report.ts'
import { createRuntime } from './runtime.ts'

interface Options extends OutputOptions {
  readonly to: number
  readonly reason: string
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

const rollBackLog = (config: Config, { to: size, reason, json }: Options, actor: string): Promise<void> =>
  withPlatform(config, createRuntime('warn'), {}, async ({ log, tables, snapshots }) => {
    const { origin } = config.audit
    try {
      const previous = await withProgress('roll back', (onProgress) =>
        rollBack({
          source: log,
          append: (fact) => log.append([fact]),
          stores: headStores(config, tables),
          ...{ origin, size, reason, actor },
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

export const registerRollback = (audit: Command, configOf: ConfigOf): void => {
  audit
    .command('rollback')
    .description(
      'go back to an earlier size of the log on purpose, as after restoring an older archive; recorded in the log for ever',
    )
    .requiredOption('--to <size>', 'how many frames of what was signed are kept', parseSize)
    .requiredOption('--reason <text>', 'why, for the record', parseReason)
    .option('--json', 'one JSON object a line', false)
    .action((options: Options, command: Command) =>
      rollBackLog(
        configOf(command),
        options,
        resolveOperator(command.optsWithGlobals<{ readonly actor?: string }>().actor),
      ),
    )
}
