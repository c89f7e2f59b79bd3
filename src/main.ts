#!/usr/bin/env node
import { Command, InvalidArgumentError } from 'commander'
import { registerCommands } from './commands/register.ts'
import { CommandError, exitCodes } from './commands/report.ts'
import { ConfigError } from './config.ts'

const program = new Command('gateway')
  .description('A model gateway whose bill can be audited.')
  .version('0.1.0')
  .option('--config <file>', 'configuration file (default: gateway.yaml where there is one)')
  .option('--data <folder>', 'data folder of the embedded servers (default: ./data)')
  .showHelpAfterError('(add --help for usage)')
  .exitOverride((usage) => process.exit(usage.exitCode === 0 ? exitCodes.done : exitCodes.usage))

registerCommands(program)

try {
  await program.parseAsync()
} catch (fault) {
  process.exitCode = exitCodeOf(fault)
  console.error(fault instanceof ConfigError || fault instanceof CommandError ? fault.message : fault)
}

function exitCodeOf(fault: unknown): number {
  return fault instanceof ConfigError || fault instanceof InvalidArgumentError ? exitCodes.usage : exitCodes.failed
}
