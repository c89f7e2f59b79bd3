import { type Command, InvalidArgumentError } from 'commander'
import { verifierText } from '../audit/note.ts'
import type { Config } from '../config/config.ts'
import type { ProcessRole } from '../roles/role.ts'
import { findLogVerifier, newKeyPair } from './audit-keys.ts'
import { registerRollback } from './audit-rollback.ts'
import { CommandError, type OutputOptions, printRecords, UsageError } from './report.ts'

export type ConfigOf = (
  command: Command,
  options?: { readonly role?: ProcessRole; readonly withoutKeys?: boolean },
) => Config

type KeyPair = ReturnType<typeof newKeyPair>

interface KeyOptions extends OutputOptions {
  readonly new: boolean
  readonly origin?: KeyPair
}

const printNewKey = ({ signingKey, publicKey }: KeyPair, output: OutputOptions): void => {
  if (output.json) printRecords([{ signing_key: signingKey, public_key: publicKey }], output)
  else console.log(`signing_key: ${signingKey}\npublic_key: ${publicKey}`)
  console.error(
    'The signing key is shown once and not stored: its holder can seal another history. Give it to the schedulers alone, and the public key to every verifier.',
  )
}

const newKeyPairOf = (origin: string): KeyPair => {
  try {
    return newKeyPair(origin)
  } catch {
    throw new InvalidArgumentError('it is the name of a log: up to 255 characters without spaces and +')
  }
}

const printKey = (configOf: ConfigOf, command: Command, output: OutputOptions): void => {
  // Where only the private key is configured, the public one is derived from it, which needs the role that reads it.
  const verifier = findLogVerifier(configOf(command)) ?? findLogVerifier(configOf(command, { role: 'scheduler' }))
  if (verifier === null)
    throw new CommandError(
      'no key: none is configured in `audit`, and no gateway has made one on the data folder yet; `--new` makes a pair',
    )
  const text = verifierText(verifier)
  if (output.json) printRecords([{ public_key: text }], output)
  else console.log(text)
}

export const registerAudit = (program: Command, configOf: ConfigOf): void => {
  const audit = program.command('audit').description('the keys that the log is sealed with, and what was signed of it')
  registerRollback(audit, configOf)
  audit
    .command('key')
    .description('print the public key that verifies the log')
    .option('--new', 'make a new key pair and print both; it is not stored', false)
    .option(
      '--origin <name>',
      'with --new: the log that the keys are of, as in audit.origin (default: that of the configuration)',
      newKeyPairOf,
    )
    .option('--json', 'one JSON object a line', false)
    .action((options: KeyOptions, command: Command) => {
      const { origin } = options
      if (origin !== undefined && !options.new) throw new UsageError('--origin names a new key: add --new')
      if (options.new) printNewKey(origin ?? newKeyPair(configOf(command, { withoutKeys: true }).audit.origin), options)
      else printKey(configOf, command, options)
    })
}
