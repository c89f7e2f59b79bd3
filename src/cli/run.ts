import { type AddHelpTextContext, Command, CommanderError, InvalidArgumentError } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { registerCommands } from './register.ts'
import { exitCodes, isBrokenPipe, UsageError } from './report.ts'
import { version } from './version.ts'

/** For `help` of an unknown command: commander shows the help around it, and not the error. */
const unknownCommand = ({ error, command }: AddHelpTextContext): string => {
  const [word, name] = command.args
  return error && word === 'help' && name !== undefined ? `error: unknown command '${name}'\n` : ''
}

export const createProgram = (): Command => {
  const program = new Command('gateway')
    .description('A model gateway whose bill can be audited.')
    .version(version)
    .option('--config <file>', 'configuration file (default: gateway.yaml where there is one)')
    .option('--data <folder>', 'data folder of the embedded servers (default: ./data)')
    .option(
      '--actor <name>',
      'the actor that the log names for the changes of a command (default: the user of the operating system)',
    )
    .showHelpAfterError('(add --help for usage)')
    .addHelpText('beforeAll', unknownCommand)
    .exitOverride()
  registerCommands(program)
  return program
}

/** Bugs are shown with their stack; faults of the environment as one line. */
const isInternalFault = (fault: unknown): boolean =>
  !(fault instanceof Error) || fault instanceof TypeError || fault instanceof ReferenceError

const listMessages = (fault: unknown): readonly string[] => {
  if (!(fault instanceof Error)) return fault === undefined ? [] : [String(fault)]
  return [...new Set([fault.message, ...listMessages(fault.cause)])]
}

/** Help, or an unknown command: commander has printed it. */
const isReportedByCommander = (fault: unknown): fault is CommanderError =>
  fault instanceof CommanderError && !(fault instanceof InvalidArgumentError)

const reportFault = (fault: unknown): number => {
  if (isReportedByCommander(fault)) return fault.exitCode === 0 ? exitCodes.done : exitCodes.usage
  console.error(isInternalFault(fault) ? fault : listMessages(fault).join('\n  because '))
  const usedWrongly =
    fault instanceof ConfigError || fault instanceof UsageError || fault instanceof InvalidArgumentError
  return usedWrongly ? exitCodes.usage : exitCodes.failed
}

/** A command completes even where the reader of its output has closed it. */
const ignoreBrokenPipe = (fault: Error): void => {
  if (!isBrokenPipe(fault)) throw fault
}

const ignoreBrokenPipes = (): void => {
  for (const stream of [process.stdout, process.stderr])
    if (!stream.listeners('error').includes(ignoreBrokenPipe)) stream.on('error', ignoreBrokenPipe)
}

/** Resolves when the command is over; a fault is printed on standard error and sets the exit code. */
export const runCommandLine = async (words: readonly string[]): Promise<void> => {
  ignoreBrokenPipes()
  try {
    await createProgram().parseAsync(words, { from: 'user' })
  } catch (fault) {
    process.exitCode = reportFault(fault)
  }
}
