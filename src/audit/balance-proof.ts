import { readWalletRecord, type WalletRecord, walletFormats, walletLinePrefix } from '../domain/ledger/snapshot.ts'
import { isObject, parseJson } from '../encoding/json.ts'
import type { FrameSource } from '../log/raw-frames.ts'
import { computeRootFromPath, type Hash, hashLeaf, inclusionPath } from './merkle.ts'
import type { Verifier } from './note.ts'
import { ProofFault } from './proof.ts'
import { openCheckpointNote } from './published-checkpoints.ts'
import { readSnapshotLine, type SnapshotHead } from './seal.ts'
import { findConfirmation, readLines, type SnapshotStore } from './snapshots.ts'

const format = 'gateway-balance-proof/1'

export interface BalanceProof {
  readonly format: typeof format
  /** The wallet's line of the snapshot, as it was hashed. */
  readonly record: string
  readonly index: number
  readonly lines: number
  /** From the line's leaf to the root of the snapshot (RFC 6962, 2.1.1), hex. */
  readonly path: readonly string[]
  /** The signed note, with the root of the snapshot in its extension line. */
  readonly checkpoint: string
}

export interface ProvedBalance {
  readonly origin: string
  /** Of the last frame that counts. */
  readonly sequence: number
  readonly wallet: WalletRecord
}

interface BalanceSource {
  readonly log: FrameSource
  readonly store: Pick<SnapshotStore, 'list' | 'read'>
  readonly verifiers: readonly Verifier[]
}

/** Throws ProofFault where the snapshot has no such workspace. */
const proveLine = async (
  { store }: BalanceSource,
  head: SnapshotHead,
  workspaceId: string,
): Promise<Omit<BalanceProof, 'format' | 'checkpoint'>> => {
  const prefix = Buffer.from(walletLinePrefix(workspaceId))
  const leaves: Hash[] = []
  let found: { readonly record: string; readonly index: number } | null = null
  for await (const lines of readLines(store.read(head)))
    for (const line of lines) {
      if (line.subarray(0, prefix.length).equals(prefix)) found = { record: line.toString(), index: leaves.length }
      leaves.push(hashLeaf(line))
    }
  if (found === null) throw new ProofFault(`the snapshot of sequence ${head.sequence} has no workspace ${workspaceId}`)
  const path = inclusionPath(0, [], leaves, found.index).map((hash) => hash.toString('hex'))
  return { ...found, lines: leaves.length, path }
}

/** Of the newest snapshot. Throws ProofFault where none is confirmed, or it has no such workspace. */
export const makeBalanceProof = async (source: BalanceSource, workspaceId: string): Promise<BalanceProof> => {
  for (const head of await source.store.list()) {
    if (!walletFormats.has(head.format)) continue
    const checkpoint = await findConfirmation(source, head).catch(() => null)
    if (checkpoint !== null)
      return { format, ...(await proveLine(source, head, workspaceId)), checkpoint: checkpoint.note }
  }
  throw new ProofFault(
    'no checkpoint confirms a snapshot yet: one is written every 10 minutes, and when the sealer stops',
  )
}

const isBalanceProof = (value: unknown): value is BalanceProof => {
  if (!isObject(value) || value['format'] !== format) return false
  const { record, index, lines, path, checkpoint } = value
  return (
    typeof record === 'string' &&
    record.isWellFormed() &&
    Number.isSafeInteger(index) &&
    Number.isSafeInteger(lines) &&
    Array.isArray(path) &&
    path.every((each) => typeof each === 'string' && /^[0-9a-f]{64}$/.test(each)) &&
    typeof checkpoint === 'string'
  )
}

export const readBalanceProof = (text: string): BalanceProof | null => {
  const value = parseJson(text)
  return isBalanceProof(value) ? value : null
}

/** Throws ProofFault or NoteFault if the proof fails. */
export const checkBalanceProof = (proof: BalanceProof, verifiers: readonly Verifier[]): ProvedBalance => {
  const checkpoint = openCheckpointNote(proof.checkpoint, verifiers)
  const head = readSnapshotLine(checkpoint)
  if (head === null) throw new ProofFault('the checkpoint confirms no snapshot')
  if (!walletFormats.has(head.format))
    throw new ProofFault(`the snapshot has format ${head.format}, which is not read here`)
  const path = proof.path.map((hash) => Buffer.from(hash, 'hex'))
  const root = computeRootFromPath(hashLeaf(Buffer.from(proof.record)), proof.index, proof.lines, path)
  if (root?.toString('hex') !== head.sha256)
    throw new ProofFault('the record is not in the snapshot that the checkpoint confirms')
  const wallet = readWalletRecord(proof.record)
  if (wallet === null) throw new ProofFault('the record is not that of a wallet')
  return { origin: checkpoint.origin, sequence: head.sequence, wallet }
}
