import { readCosignatures, type WitnessKey } from './cosignature.ts'
import { auditLimits } from './limits.ts'
import type { Hash } from './merkle.ts'
import { NoteFault, splitNote } from './note.ts'

/** The body of `add-checkpoint` (C2SP `tlog-witness`). */
export interface AddCheckpoint {
  /** Of the last checkpoint that the witness has cosigned; 0 where it has none. */
  readonly oldSize: number
  /** From that size to the checkpoint's. */
  readonly proof: readonly Hash[]
  readonly note: string
}

export const sizeMediaType = 'text/x.tlog.size'

export const formatAddCheckpoint = ({ oldSize, proof, note }: AddCheckpoint): string =>
  [`old ${oldSize}`, ...proof.map((hash) => hash.toString('base64')), '', note].join('\n')

const sizePattern = /^(?:0|[1-9][0-9]{0,15})$/

/** Throws NoteFault where it is no decimal without leading zeroes, or beyond 2^53 - 1. */
export const parseSize = (text: string): number => {
  const size = Number(text)
  if (!sizePattern.test(text) || !Number.isSafeInteger(size)) throw new NoteFault('a size is not a decimal number')
  return size
}

const parseHash = (line: string): Hash => {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(line)) throw new NoteFault('a line of the proof is not 32 bytes in base64')
  return Buffer.from(line, 'base64')
}

/** Throws NoteFault for a malformed body. The checkpoint in it is not read. */
export const parseAddCheckpoint = (body: string): AddCheckpoint => {
  const end = body.indexOf('\n\n')
  const [first = '', ...lines] = body.slice(0, Math.max(0, end)).split('\n')
  if (!first.startsWith('old ')) throw new NoteFault('the first line is not the old size')
  if (lines.length > auditLimits.consistencyProofLinesMax) throw new NoteFault('the proof has too many lines')
  return { oldSize: parseSize(first.slice('old '.length)), proof: lines.map(parseHash), note: body.slice(end + 2) }
}

export interface WitnessReply {
  readonly status: number
  /** The media type, without parameters. */
  readonly type: string
  readonly body: string
}

export interface WitnessAddress {
  /** Prefix of submission and of monitoring, without a slash at its end. */
  readonly url: string
  readonly key: WitnessKey
}

/** A witness of others. Each call rejects where it cannot be reached. */
export interface WitnessClient {
  readonly key: WitnessKey
  add(body: string): Promise<WitnessReply>
  /** The last checkpoint that it has cosigned of a log; not every witness serves it. */
  readLast(origin: string): Promise<WitnessReply>
}

export type AddOutcome =
  | { readonly type: 'cosigned'; readonly lines: string }
  /** The witness has cosigned another size last. */
  | { readonly type: 'conflict'; readonly size: number }
  | { readonly type: 'refused'; readonly reason: string }

const refusals: ReadonlyMap<number, string> = new Map([
  [400, 'it finds the request malformed'],
  [403, 'it does not know the key that signed the checkpoint'],
  [404, 'it does not know the log: give its operator the public key'],
  [413, 'it finds the request too large'],
  [422, 'the checkpoint does not extend the one that it has cosigned: one of the two is of another history'],
])

const readSize = ({ type, body }: WitnessReply): AddOutcome => {
  if (type !== sizeMediaType) return { type: 'refused', reason: `status 409 comes as ${type}, not ${sizeMediaType}` }
  return { type: 'conflict', size: parseSize(body.trimEnd()) }
}

/** The witness's own lines alone are kept. Throws NoteFault where one of them, or a size, does not read as specified. */
export const readAddReply = (reply: WitnessReply, note: string, key: WitnessKey): AddOutcome => {
  const { status, body } = reply
  if (status === 409) return readSize(reply)
  if (status !== 200) return { type: 'refused', reason: refusals.get(status) ?? 'it failed' }
  const cosignatures = readCosignatures(body, splitNote(note).body, [key])
  if (cosignatures.length === 0) return { type: 'refused', reason: `it answers without a signature by its key` }
  return { type: 'cosigned', lines: cosignatures.map(({ line }) => `${line}\n`).join('') }
}
