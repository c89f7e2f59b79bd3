import { type AddHelpTextContext, Command, CommanderError, InvalidArgumentError } from 'commander'
import { ConfigError } from '../config.ts'
import { registerCommands } from './register.ts'
import { exitCodes, isGoneReader, UsageError } from './report.ts'

/** Help for what is no command: commander shows the help around it, and not what is wrong. */
const unknownCommand = ({ error, command }: AddHelpTextContext): string => {
  const [word, name] = command.args
  return error && word === 'help' && name !== undefined ? `error: unknown command '${name}'\n` : ''
}

const createProgram = (): Command => {
  const program = new Command('gateway')
    .description('A model gateway whose bill can be audited.')
    .version('0.1.0')
    .option('--config <file>', 'configuration file (default: gateway.yaml where there is one)')
    .option('--data <folder>', 'data folder of the embedded servers (default: ./data)')
    .option(
      '--actor <name>',
      'in whose name the log tells what a command changes (default: the user of the operating system)',
    )
    .showHelpAfterError('(add --help for usage)')
    .addHelpText('beforeAll', unknownCommand)
    .exitOverride()
  registerCommands(program)
  return program
}

/** What the program itself does wrong is shown with its stack; what the world does is told in words. */
const isFaultOfOurs = (fault: unknown): boolean =>
  !(fault instanceof Error) || fault instanceof TypeError || fault instanceof ReferenceError

const sayings = (fault: unknown): readonly string[] => {
  if (!(fault instanceof Error)) return fault === undefined ? [] : [String(fault)]
  return [fault.message, ...sayings(fault.cause)]
}

/** Help that was asked for, or words that are no command: commander has said it. */
const isSaid = (fault: unknown): fault is CommanderError =>
  fault instanceof CommanderError && !(fault instanceof InvalidArgumentError)

const tell = (fault: unknown): number => {
  if (isSaid(fault)) return fault.exitCode === 0 ? exitCodes.done : exitCodes.usage
  console.error(isFaultOfOurs(fault) ? fault : sayings(fault).join('\n  because '))
  const usedWrongly =
    fault instanceof ConfigError || fault instanceof UsageError || fault instanceof InvalidArgumentError
  return usedWrongly ? exitCodes.usage : exitCodes.failed
}

/** What a command does is done to its end, whether or not anybody still reads what it says. */
const passOverGoneReader = (fault: Error): void => {
  if (!isGoneReader(fault)) throw fault
}

const listenForGoneReaders = (): void => {
  for (const stream of [process.stdout, process.stderr])
    if (!stream.listeners('error').includes(passOverGoneReader)) stream.on('error', passOverGoneReader)
}

/** Runs the command that the words of a command line ask for, until it is over; a fault is told on standard error and is the exit code. */
export const run = async (words: readonly string[]): Promise<void> => {
  listenForGoneReaders()
  try {
    await createProgram().parseAsync(words, { from: 'user' })
  } catch (fault) {
    process.exitCode = tell(fault)
  }
}
