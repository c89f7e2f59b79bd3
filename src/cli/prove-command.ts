import { writeFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { ArchiveSource } from '../adapters/archive/archive-source.ts'
import { type BalanceProof, checkBalanceProof, makeBalanceProof } from '../audit/balance-proof.ts'
import { type FoundEvent, findEvent, findSeal } from '../audit/find-frame.ts'
import type { Verifier } from '../audit/note.ts'
import { checkProof, makeProof, type Proof, ProofFault } from '../audit/proof.ts'
import { readFramesAt } from '../audit/read-evidence.ts'
import type { Seal } from '../audit/seal.ts'
import { verifyCheckpoint } from '../audit/verified-checkpoints.ts'
import type { Config } from '../config/config.ts'
import { formatUsd } from '../domain/money.ts'
import { balancePicos } from '../domain/wallet/wallet.ts'
import { type FrameSource, readFrameAt } from '../log/raw-frames.ts'
import { findTrace } from '../projections/charges/charge-trace.ts'
import type { ConfigOf } from './audit-command.ts'
import { type Platform, withPlatform } from './platform.ts'
import { publicKeyOption, resolveVerifiers } from './public-keys.ts'
import { CommandError, exitCodes, type OutputOptions, printRecords } from './report.ts'
import { createRuntime } from './runtime.ts'

interface Options extends OutputOptions {
  readonly archive?: string
  readonly index: number
  readonly balance: boolean
  readonly out?: string
  readonly publicKey: readonly string[]
}

interface ProofSource {
  readonly source: FrameSource
  readonly lastSeal: Seal | null
  readonly findSequences: (id: string) => Promise<readonly number[]>
}

type FoundFrame = Pick<FoundEvent, 'frame' | 'indexInFrame'>

const findBySequence = async (
  { source }: ProofSource,
  sequence: number,
  indexInFrame: number,
): Promise<FoundFrame | null> => {
  const frame = await readFrameAt(source, sequence, await source.lastSequence())
  return frame === null ? null : { frame, indexInFrame }
}

/** First the frames that the tables name, then the whole log. */
const findById = async ({ source, findSequences }: ProofSource, id: string): Promise<FoundFrame | null> => {
  const last = await source.lastSequence()
  const known = (await findSequences(id)).filter((sequence) => sequence <= last)
  return (await findEvent(readFramesAt(source, known), id)) ?? findEvent(source.read(1, last), id)
}

const sealFor = async (
  { source, lastSeal }: ProofSource,
  sequence: number,
  verifiers: readonly Verifier[],
): Promise<Seal> => {
  const seal = await findSeal(source, sequence, verifiers, sequence + 1, await source.lastSequence())
  if (seal !== null) return seal
  if (lastSeal !== null && lastSeal.from < sequence && sequence <= lastSeal.size) return lastSeal
  throw new CommandError(`frame ${sequence} is not sealed yet by a trusted checkpoint`)
}

const proveEvent = async (
  place: ProofSource,
  asked: string,
  index: number,
  verifiers: readonly Verifier[],
): Promise<Proof> => {
  const found = /^[1-9][0-9]{0,15}$/.test(asked)
    ? await findBySequence(place, Number(asked), index)
    : await findById(place, asked)
  if (found === null) throw new CommandError(`nothing in the log is called ${asked}`)
  const proof = makeProof(found.frame, found.indexInFrame, await sealFor(place, found.frame.sequence, verifiers))
  checkProof(proof, verifiers)
  return proof
}

const onArchive = async <T>(
  folder: string,
  verifiers: readonly Verifier[],
  work: (place: ProofSource) => Promise<T>,
): Promise<T> => {
  const source = await ArchiveSource.open(folder)
  const { lastCheckpoint } = source
  const lastSeal = lastCheckpoint === undefined ? null : verifyCheckpoint(lastCheckpoint, verifiers)
  return work({ source, lastSeal, findSequences: async () => [] })
}

const sequencesIn =
  ({ tables }: Platform): ProofSource['findSequences'] =>
  async (id) => {
    if (tables === null) return []
    return findTrace(tables.database.db, id).then(
      (trace) => trace?.sequences ?? [],
      () => [],
    )
  }

const onLog = <T>(config: Config, work: (place: ProofSource) => Promise<T>): Promise<T> =>
  withPlatform(config, createRuntime('warn'), { readOnly: true }, (platform) =>
    work({ source: platform.log, lastSeal: null, findSequences: sequencesIn(platform) }),
  )

type BalancePlace = Pick<Parameters<typeof makeBalanceProof>[0], 'log' | 'store'>

const onSnapshots = async <T>(
  config: () => Config,
  archive: string | undefined,
  work: (place: BalancePlace) => Promise<T>,
): Promise<T> => {
  if (archive === undefined)
    return withPlatform(config(), createRuntime('warn'), { readOnly: true }, ({ log, snapshots: store }) =>
      work({ log, store }),
    )
  const source = await ArchiveSource.open(archive)
  return work({ log: source, store: source.snapshots })
}

const proveBalance = async (
  place: BalancePlace,
  workspaceId: string,
  verifiers: readonly Verifier[],
): Promise<BalanceProof> => {
  try {
    const proof = await makeBalanceProof({ ...place, verifiers }, workspaceId)
    checkBalanceProof(proof, verifiers)
    return proof
  } catch (fault) {
    if (fault instanceof ProofFault) throw new CommandError(fault.message, { cause: fault })
    throw fault
  }
}

const writeBalanceProof = async (config: () => Config, workspaceId: string, options: Options): Promise<void> => {
  const verifiers = resolveVerifiers(options.publicKey, config)
  const proof = await onSnapshots(config, options.archive, (place) => proveBalance(place, workspaceId, verifiers))
  const { sequence, wallet } = checkBalanceProof(proof, verifiers)
  const file = options.out ?? fileFor(`${workspaceId}.balance`)
  writeFileSync(file, `${JSON.stringify(proof, null, 1)}\n`)
  const balance = formatUsd(balancePicos(wallet))
  if (options.json) printRecords([{ proof: file, sequence, workspace: workspaceId, balance }], options)
  else console.log(`${file} proves the balance of ${workspaceId} at frame ${sequence}: ${balance} USD`)
}

const indexOf = (text: string): number => {
  if (!/^[0-9]{1,6}$/.test(text)) throw new InvalidArgumentError('an index is a whole number from 0 on')
  return Number(text)
}

const fileFor = (asked: string): string => `${asked.replace(/[^\w.-]/g, '_')}.proof.json`

export const registerProve = (program: Command, configOf: ConfigOf): void => {
  program
    .command('prove <id>')
    .description(
      'write the proof that a charge is in the log, by event id, request or task id, or sequence; or of a balance',
    )
    .option('--out <file>', 'where to (default: <id>.proof.json)')
    .option('--index <index>', 'of the events of a frame that is named by its sequence, which one, from 0', indexOf, 0)
    .option('--balance', 'of a workspace, whose id is given: what it had at the last snapshot', false)
    .option('--archive <folder>', 'from an archive, instead of the log')
    .addOption(publicKeyOption('log'))
    .option('--json', 'one JSON object a line', false)
    .action(async (asked: string, options: Options, command: Command) => {
      const config = (): Config => configOf(command)
      if (options.balance) {
        await writeBalanceProof(config, asked, options)
        return
      }
      const verifiers = resolveVerifiers(options.publicKey, config)
      const work = (place: ProofSource): Promise<Proof> => proveEvent(place, asked, options.index, verifiers)
      const proof = await (options.archive === undefined
        ? onLog(config(), work)
        : onArchive(options.archive, verifiers, work))
      const file = options.out ?? fileFor(asked)
      writeFileSync(file, `${JSON.stringify(proof, null, 1)}\n`)
      const { event, sequence } = proof
      if (options.json) printRecords([{ proof: file, sequence, event: event.id, type: event.type }], options)
      else console.log(`${file} proves ${event.type} ${event.id}, frame ${sequence}`)
      process.exitCode = exitCodes.done
    })
}
