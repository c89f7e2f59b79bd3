import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { openCosignedFolder } from '../adapters/audit-files.ts'
import { createWitnessListener } from '../adapters/witness/listener.ts'
import { witnessKeyOf, witnessKeyText } from '../audit/cosignature.ts'
import { parseSigningKey, signingKeyText } from '../audit/keys.ts'
import { deriveVerifier, parseVerifier, type Signer } from '../audit/note.ts'
import { Witness, type WitnessedLog } from '../audit/witness.ts'
import type { Config } from '../config/config.ts'
import { lockFile } from '../embedded/folder-lock.ts'
import { faultText } from '../errors/gateway-error.ts'
import { createPrivateFile } from '../runtime/private-file.ts'
import type { ConfigOf } from './audit-command.ts'
import { parsePort } from './option-values.ts'
import { withPortErrors } from './ports.ts'
import { CommandError, UsageError } from './report.ts'
import { createRuntime } from './runtime.ts'
import { onShutdownSignal } from './shutdown-signal.ts'

interface Options {
  readonly name: string
  readonly log: readonly WitnessedLog[]
  readonly host: string
  readonly port: number
  readonly keyFile?: string
}

const seedBytes = 32
const defaultPort = 8790

/** `<key>`, or `<origin> <key>` where the log's name is not that of its key. */
const parseLog = (text: string, earlier: readonly WitnessedLog[] = []): readonly WitnessedLog[] => {
  const [key = '', origin] = text.trim().split(' ').reverse()
  try {
    const verifier = parseVerifier(existsSync(key) ? readFileSync(key, 'utf8') : key)
    return [...earlier, { origin: origin ?? verifier.name, verifier }]
  } catch (fault) {
    throw new InvalidArgumentError(faultText(fault))
  }
}

const parseName = (text: string): string => {
  if (!/^[^\s+]{1,255}$/.test(text)) throw new InvalidArgumentError('a name is 1 to 255 characters without blanks or +')
  return text
}

/** Made at the first start. */
const readSigner = (folder: string, { name, keyFile = join(folder, 'signing-key') }: Options): Signer => {
  if (!existsSync(keyFile)) createPrivateFile(keyFile, `${signingKeyText(randomBytes(seedBytes))}\n`)
  try {
    return parseSigningKey(name, readFileSync(keyFile, 'utf8'))
  } catch (fault) {
    throw new UsageError(`${keyFile}: ${faultText(fault)}`)
  }
}

const serveWitness = async ({ dataFolder }: Config, options: Options): Promise<void> => {
  const { log: logs, host, port } = options
  if (logs.length === 0) throw new UsageError('no log: name the public key of at least one with --log')
  const runtime = createRuntime('info', { role: 'witness' })
  const folder = join(dataFolder, 'witness')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const lock = lockFile(
    join(folder, 'lock.sqlite'),
    (cause) => new CommandError(`${folder} is in use by another witness`, { cause }),
  )
  const untilShutdown = onShutdownSignal()
  const signer = readSigner(folder, options)
  const witness = new Witness({ logs, signer, store: openCosignedFolder(folder), ...runtime })
  const listener = createWitnessListener(witness, runtime.logger)
  const url = await withPortErrors({ host, port, settings: '--port' }, listener.listen(host, port))
  console.log(`The witness answers at ${url}`)
  console.log(`public_key: ${witnessKeyText(witnessKeyOf(signer.name, deriveVerifier(signer).publicKey))}`)
  await untilShutdown()
  await listener.stop()
  lock.release()
}

export const registerWitness = (program: Command, configOf: ConfigOf): void => {
  program
    .command('witness')
    .description('cosign the checkpoints of other logs, each only where it extends the one before (C2SP tlog-witness)')
    .requiredOption('--name <name>', 'of this witness and its key, such as witness.example.com/w1', parseName)
    .option(
      '--log <key>',
      'the public key of a log that is cosigned, or a file with it; "<origin> <key>" where their names differ; may be repeated',
      parseLog,
      [],
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on', parsePort, defaultPort)
    .option('--key-file <file>', 'its signing key (default: witness/signing-key in the data folder, made if missing)')
    .action((options: Options, command: Command) => serveWitness(configOf(command), options))
}
