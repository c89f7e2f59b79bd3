import type { Command } from 'commander'
import { verifierText } from '../audit/note.ts'
import type { Config } from '../config/config.ts'
import type { ProcessRole } from '../roles/role.ts'
import { findLogVerifier, newKeyPair } from './audit-keys.ts'
import { registerRollback } from './audit-rollback.ts'
import { CommandError, type OutputOptions, printRecords } from './report.ts'

export type ConfigOf = (command: Command, options?: { readonly role?: ProcessRole }) => Config

const printNewKey = ({ audit }: Config, output: OutputOptions): void => {
  const { signingKey, publicKey } = newKeyPair(audit.origin)
  if (output.json) printRecords([{ signing_key: signingKey, public_key: publicKey }], output)
  else console.log(`signing_key: ${signingKey}\npublic_key: ${publicKey}`)
  console.error(
    'The signing key is shown once and not stored: its holder can seal another history. Give it to the schedulers alone, and the public key to every verifier.',
  )
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
    .option('--json', 'one JSON object a line', false)
    .action((options: OutputOptions & { readonly new: boolean }, command: Command) => {
      if (options.new) printNewKey(configOf(command), options)
      else printKey(configOf, command, options)
    })
}
