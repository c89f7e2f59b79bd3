import { setFlagsFromString } from 'node:v8'
import type { Command } from 'commander'
import { ArchiveSource } from '../adapters/archive/archive-source.ts'
import { checkBalanceProof, type ProvedBalance, readBalanceProof } from '../audit/balance-proof.ts'
import { NoteFault, type Verifier, verifierText } from '../audit/note.ts'
import { checkProof, type Proof, ProofFault, readProof } from '../audit/proof.ts'
import type { KnownHead, PublishedCheckpoint } from '../audit/published-checkpoints.ts'
import { SignedHeadFault } from '../audit/signed-head.ts'
import { decideVerdict, type Verification, type VerifyParts, type VerifyVerdict } from '../audit/verify.ts'
import {
  replaySnapshots,
  type SnapshotCheck,
  verifyArchivedSnapshot,
  verifySnapshots,
} from '../audit/verify-snapshots.ts'
import type { Config } from '../config/config.ts'
import { formatUsd } from '../domain/money.ts'
import { balancePicos } from '../domain/wallet/wallet.ts'
import { isObject } from '../encoding/json.ts'
import { faultText } from '../errors/gateway-error.ts'
import { assertBelongs, decodeEvents, parseSubject } from '../log/read-frame.ts'
import { sharedLimits } from '../runtime/limits.ts'
import type { ConfigOf } from './audit-command.ts'
import { headStores } from './audit-keys.ts'
import { toVerifyParts, verifyWithProgress } from './check-archive.ts'
import { cliLimits } from './command-limits.ts'
import { printFindings } from './findings-report.ts'
import { type Platform, permittedEventTypes, withPlatform } from './platform.ts'
import { collectOption, publicKeyOption, readNamedFile, resolveVerifiers } from './public-keys.ts'
import { readPublishedCheckpoints } from './published-checkpoints.ts'
import { CommandError, exitCodes, type OutputOptions, printRecords, UsageError } from './report.ts'
import { createRuntime } from './runtime.ts'
import { askWitnesses, resolveWitnesses, type WitnessOptions, witnessOptions } from './witness-options.ts'

interface Options extends OutputOptions, WitnessOptions {
  readonly archive?: string
  readonly checkpoint: readonly string[]
  readonly publicKey: readonly string[]
  readonly proof?: string
  readonly events: boolean
}

type Source = Pick<VerifyParts, 'source' | 'lastCheckpoint' | 'readClock'> & {
  readonly checkSnapshots: (found: Pick<Verification, 'snapshots' | 'unknownKey'>) => Promise<SnapshotCheck>
  readonly known: readonly (PublishedCheckpoint | KnownHead)[]
  /** How far the log has to reach is not known. */
  readonly isEndUnknown: boolean
}

const onArchive = async <T>(
  folder: string,
  verifiers: readonly Verifier[],
  work: (source: Source) => Promise<T>,
): Promise<T> => {
  const source = await ArchiveSource.open(folder, { salvage: true })
  const { snapshots: store } = source
  const checkSnapshots: Source['checkSnapshots'] = ({ snapshots, unknownKey }) =>
    verifyArchivedSnapshot({ store, log: source, verifiers, isKeyUnknown: unknownKey !== null }, snapshots)
  return work({ known: [], isEndUnknown: false, checkSnapshots, ...toVerifyParts(source) })
}

const unknownEnd =
  'what was signed last is not known here, by neither a state of the sealing, nor a witness, nor --checkpoint: a log that was cut at a checkpoint would look whole'

/** What the sealer signed last: the log has to lead there. */
const readKnownHeads = async (config: Config, { tables }: Platform): Promise<readonly KnownHead[]> => {
  const heads: KnownHead[] = []
  for (const store of headStores(config, tables))
    try {
      const head = await store.read()
      if (head !== null) heads.push({ head, place: store.place })
    } catch (fault) {
      if (fault instanceof SignedHeadFault) throw new CommandError(fault.message, { cause: fault })
      console.error(`${store.place} cannot be read: ${faultText(fault)}`)
    }
  return heads
}

const readServerTime = async ({ log }: Platform): Promise<number> => {
  const { serverTimeMs } = await log.readEnd()
  if (serverTimeMs === null) throw new Error('the server of the event log does not report its time')
  return serverTimeMs
}

const onLog = <T>(config: Config, verifiers: readonly Verifier[], work: (source: Source) => Promise<T>): Promise<T> =>
  withPlatform(config, createRuntime('warn'), { readOnly: true }, async (platform) => {
    const { witnesses } = config.audit
    const cosigned = witnesses === undefined ? [] : await askWitnesses(witnesses, verifiers)
    const heads = await readKnownHeads(config, platform)
    return work({
      source: platform.log,
      checkSnapshots: ({ snapshots }) => verifySnapshots(platform.snapshots, snapshots),
      known: [...heads.filter(({ head }) => head.size > 0), ...cosigned],
      isEndUnknown: heads.length + cosigned.length === 0,
      readClock: () => readServerTime(platform),
    })
  })

const checkEvents: VerifyParts['checkEvents'] = ({ subject, data }) =>
  assertBelongs(decodeEvents(data), parseSubject(subject), permittedEventTypes)

/** Nothing but snapshots may differ where the frames are proven. */
const withSnapshots = async (
  found: Verification,
  { source, checkSnapshots }: Pick<Source, 'source' | 'checkSnapshots'>,
  { events }: Options,
): Promise<Verification> => {
  if (found.total > 0) return found
  const stored = await checkSnapshots(found)
  const findings = [...stored.findings, ...(events ? await replaySnapshots(source, found.snapshots) : [])]
  const unproven = findings.length === 0 ? [...found.unproven, ...stored.unproven] : []
  return { ...found, findings, total: findings.length, unproven }
}

const recordOf = (found: Verification): Readonly<Record<string, unknown>> => ({
  verdict: decideVerdict(found),
  reasons: found.unproven,
  frames: found.frames,
  checkpoints: found.checkpoints,
  sealed_to: found.sealedTo,
  root: found.root,
  unsealed: found.unsealed,
  cosigned_to: found.cosignedTo,
  findings: found.total,
  rollbacks: found.rollbacks.map(({ previousSize, previousOrigin, ...rollback }) => ({
    ...rollback,
    previous_size: previousSize,
    previous_origin: previousOrigin,
  })),
})

const conclusion = ({ total, unproven }: Verification): readonly string[] => {
  if (total > 0) return [`${total} findings`]
  if (unproven.length > 0) return unproven.map((reason) => `not proven: ${reason}`)
  return ['nothing that is sealed was changed']
}

const exitCodesByVerdict: Readonly<Record<VerifyVerdict, number>> = {
  proven: exitCodes.done,
  tampered: exitCodes.failed,
  not_proven: exitCodes.notProven,
}

const printVerification = (found: Verification, output: OutputOptions): void => {
  printFindings(found.findings, found.total, output)
  if (output.json) {
    printRecords([recordOf(found)], output)
    return
  }
  const { frames, checkpoints, sealedTo, unsealed } = found
  const sealed = sealedTo === 0 ? 'none of them is sealed' : `frames 1 to ${sealedTo} are sealed`
  console.log(`${frames} frames were read, and ${checkpoints} checkpoints trusted; ${sealed}`)
  for (const { sequence, time, actor, size, previousSize, reason } of found.rollbacks)
    console.log(
      `rolled back by ${actor ?? 'an operator'} at ${time}, in frame ${sequence}: of ${previousSize} frames ${size} were kept: ${reason}`,
    )
  if (found.cosignedTo !== null) console.log(`frames 1 to ${found.cosignedTo} are cosigned by enough witnesses`)
  if (unsealed > 0 && sealedTo > 0) console.log(`not sealed yet: ${unsealed} behind them`)
  for (const line of conclusion(found)) console.log(line)
}

/** Hashed frames live for a moment outside V8's heap; V8 by default would collect for every 64 MB of them. */
const collectFramesInBulk = (): void => setFlagsFromString('--external-memory-accounted-in-global-limit')

const verifyFrames = async (config: () => Config, options: Options): Promise<number> => {
  const verifiers = resolveVerifiers(options.publicKey, config)
  const isAuditor = options.archive !== undefined && options.publicKey.length > 0
  const witnesses = resolveWitnesses(options, () => (isAuditor ? undefined : config().audit.witnesses), verifiers)
  const published = options.checkpoint.flatMap(readPublishedCheckpoints)
  if (!options.events) collectFramesInBulk()
  const work = async ({ known, isEndUnknown, checkSnapshots, ...source }: Source): Promise<Verification> => {
    const verifiedAtMs = createRuntime('warn').clock()
    const all = {
      ...source,
      witnesses,
      verifiedAtMs,
      known: [...known, ...published],
      ...(options.events ? { checkEvents } : {}),
    }
    const found = await verifyWithProgress('verify', all, verifiers)
    const checked = await withSnapshots(found, { source: source.source, checkSnapshots }, options)
    const isUnproven = isEndUnknown && published.length === 0 && checked.total === 0
    return isUnproven ? { ...checked, unproven: [...checked.unproven, unknownEnd] } : checked
  }
  const found = await (options.archive === undefined
    ? onLog(config(), verifiers, work)
    : onArchive(options.archive, verifiers, work))
  printVerification(found, options)
  return exitCodesByVerdict[decideVerdict(found)]
}

const members = ['requestId', 'taskId', 'workspaceId', 'model', 'surface', 'priceVersion', 'total', 'amount'] as const

const chargeOf = ({ event }: Proof): Readonly<Record<string, unknown>> => {
  const data = isObject(event.data) ? event.data : {}
  return Object.fromEntries(members.filter((name) => name in data).map((name) => [name, data[name]]))
}

const printLines = ({ event }: Proof): void => {
  const lines = isObject(event.data) ? event.data['lines'] : undefined
  if (!Array.isArray(lines)) return
  for (const line of lines.filter(isObject))
    console.log(`  ${line['item']}: ${line['quantity']} × ${line['unitPrice']} = ${line['amount']} USD`)
}

const charges: ReadonlySet<string> = new Set(['UsageRecorded', 'TaskSettled'])

const printProof = (proof: Proof, size: number, origin: string, output: OutputOptions): void => {
  const { event, sequence } = proof
  if (output.json) {
    printRecords([{ proved: true, log: origin, size, sequence, event }], output)
    return
  }
  console.log(`${event.type} of ${event.time}, frame ${sequence} of the log ${origin}`)
  for (const [name, value] of Object.entries(chargeOf(proof))) console.log(`  ${name}: ${value}`)
  printLines(proof)
  console.log(`proved by a checkpoint over ${size} frames`)
  if (charges.has(event.type))
    console.log('it proves this event alone: adjustments that came later have proofs of their own')
}

const printBalance = ({ origin, sequence, wallet }: ProvedBalance, output: OutputOptions): void => {
  const { workspaceId, creditsPicos, chargesPicos, heldPicos } = wallet
  const figures = {
    balance: formatUsd(balancePicos(wallet)),
    credits: formatUsd(creditsPicos),
    charges: formatUsd(chargesPicos),
    held: formatUsd(heldPicos),
  }
  if (output.json) {
    printRecords([{ proved: true, log: origin, sequence, workspace: workspaceId, ...figures }], output)
    return
  }
  console.log(`the wallet of ${workspaceId} after frame ${sequence} of the log ${origin}`)
  for (const [name, usd] of Object.entries(figures)) console.log(`  ${name}: ${usd} USD`)
  console.log('proved by a checkpoint that confirms the snapshot')
}

const verifyProof = (file: string, verifiers: readonly Verifier[], output: OutputOptions): number => {
  try {
    const text = readNamedFile(file, cliLimits.proofBytesMax)
    const balance = readBalanceProof(text)
    if (balance !== null) {
      printBalance(checkBalanceProof(balance, verifiers), output)
      return exitCodes.done
    }
    const proof = readProof(text)
    const { size, origin } = checkProof(proof, verifiers)
    printProof(proof, size, origin, output)
    return exitCodes.done
  } catch (fault) {
    if (!(fault instanceof ProofFault || fault instanceof NoteFault)) throw fault
    const keys = verifiers.map((each) => verifierText(each)).join(', ')
    throw new CommandError(`${file} is not a valid proof under ${keys}: ${fault.message}`)
  }
}

const assertProofOnly = ({ archive, checkpoint, events, witness, quorum }: Options): void => {
  if (archive !== undefined || checkpoint.length > 0 || events || witness.length > 0 || quorum !== undefined)
    throw new UsageError('--proof is checked by itself: without --archive, --checkpoint, --witness and --events')
}

const exitCodeHelp = `
Exit codes:
  0  proven: nothing that is sealed was changed, and all that has to be sealed is
  1  tampered: something contradicts a checkpoint; each finding is printed
  2  used wrongly, or no public key is known
  4  not proven: there is no checkpoint, it is not known what was signed last, too few witnesses have cosigned it,
     a key that is not known has sealed on, as after a change of key, the last confirmed snapshot is missing from the store or the archive, or a frame is unsealed for over ${sharedLimits.verifyUnsealedMs / 1_000} s by its server's clock
`

export const registerVerify = (program: Command, configOf: ConfigOf): void => {
  program
    .command('verify')
    .description(
      'prove that nothing sealed was changed, removed, inserted or reordered: in the log, an archive or a proof',
    )
    .option('--archive <folder>', 'of an archive, instead of the log')
    .option(
      '--checkpoint <file>',
      'a published checkpoint, or the manifest of an archive; may be repeated',
      collectOption,
      [],
    )
    .addOption(publicKeyOption('log'))
    .addOption(witnessOptions[0])
    .addOption(witnessOptions[1])
    .option('--proof <file>', 'check a proof made by `gateway prove`, without log or database')
    .option(
      '--events',
      'also check every event against its schema, and snapshots against a replay, which takes longer',
      false,
    )
    .option('--json', 'one JSON object a line', false)
    .addHelpText('after', exitCodeHelp)
    .action(async (options: Options, command: Command) => {
      const config = (): Config => configOf(command)
      if (options.proof === undefined) {
        process.exitCode = await verifyFrames(config, options)
        return
      }
      assertProofOnly(options)
      process.exitCode = verifyProof(options.proof, resolveVerifiers(options.publicKey, config), options)
    })
}
