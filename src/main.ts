#!/usr/bin/env node
import { Command, InvalidArgumentError } from 'commander'
import { registerCommands } from './commands/register.ts'
import { exitCodes, UsageError } from './commands/report.ts'
import { ConfigError } from './config.ts'

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
  .exitOverride((usage) => process.exit(usage.exitCode === 0 ? exitCodes.done : exitCodes.usage))

registerCommands(program)

try {
  await program.parseAsync()
} catch (fault) {
  process.exitCode = exitCodeOf(fault)
  console.error(isFaultOfOurs(fault) ? fault : sayings(fault).join('\n  because '))
}

function exitCodeOf(fault: unknown): number {
  const usedWrongly =
    fault instanceof ConfigError || fault instanceof UsageError || fault instanceof InvalidArgumentError
  return usedWrongly ? exitCodes.usage : exitCodes.failed
}

/** What the program itself does wrong is shown with its stack; what the world does is told in words. */
function isFaultOfOurs(fault: unknown): boolean {
  return !(fault instanceof Error) || fault instanceof TypeError || fault instanceof ReferenceError
}

function sayings(fault: unknown): readonly string[] {
  if (!(fault instanceof Error)) return fault === undefined ? [] : [String(fault)]
  return [fault.message, ...sayings(fault.cause)]
}
