import { type KeyObject, sign } from 'node:crypto'
import {
  isSignature,
  keyIdOf,
  keyText,
  NoteFault,
  noteKeyType,
  readKey,
  readSignatureLines,
  type Signer,
  signaturesOf,
  splitKeyText,
  type Verifier,
} from './note.ts'

/** Cosignatures of witnesses (C2SP `tlog-cosignature`): lines below a signed note. */
const cosignatureKeyType = 4
const refusedKeyTypes: ReadonlyMap<number, string> = new Map([
  [2, 'ECDSA'],
  [5, 'timestamped RFC 6962 tree heads'],
  [6, 'ML-DSA-44 cosignatures'],
])
const timestampBytes = 8
const secondsMax = 2n ** 63n - 1n

export interface WitnessKey extends Verifier {
  /** 4: cosignatures with a time. 1: signatures of the note's text alone. */
  readonly type: typeof cosignatureKeyType | typeof noteKeyType
}

export interface Cosignature {
  readonly witness: string
  /** When the witness signed, seconds since the epoch; null in a signature without a time. */
  readonly seconds: number | null
  readonly line: string
}

/** Throws NoteFault that names the type of a key that cannot be used. */
export const parseWitnessKey = (text: string): WitnessKey => {
  const key = splitKeyText(text)
  if (key === null) throw new NoteFault('not a public key of a witness: expected <name>+<id>+<key>')
  const { type } = key
  if (type === cosignatureKeyType || type === noteKeyType) return { ...readKey(key), type }
  const named = refusedKeyTypes.get(type) ?? 'unknown'
  throw new NoteFault(
    `the witness ${key.name} has a key of type ${type} (${named}), which is not supported: name its Ed25519 key, of type 4 or 1`,
  )
}

export const witnessKeyText = (key: WitnessKey): string => keyText(key, key.type)

export const witnessKeyOf = (name: string, publicKey: KeyObject): WitnessKey => ({
  name,
  publicKey,
  type: cosignatureKeyType,
})

const cosignedText = (body: string, seconds: bigint): string => `cosignature/v1\ntime ${seconds}\n${body}`

/** A signature line over the body of a checkpoint. */
export const cosign = (body: string, { name, privateKey }: Signer, { publicKey }: Verifier, nowMs: number): string => {
  const seconds = BigInt(Math.floor(nowMs / 1_000))
  const time = Buffer.alloc(timestampBytes)
  time.writeBigUInt64BE(seconds)
  const signature = sign(null, Buffer.from(cosignedText(body, seconds)), privateKey)
  const id = keyIdOf(name, publicKey, cosignatureKeyType)
  return `— ${name} ${Buffer.concat([id, time, signature]).toString('base64')}\n`
}

/** Undefined where it does not verify. */
const readTime = (signature: Buffer, body: string, key: WitnessKey): number | null | undefined => {
  if (key.type === noteKeyType) return isSignature(signature, body, key) ? null : undefined
  if (signature.length < timestampBytes) return undefined
  const seconds = signature.readBigUInt64BE()
  if (seconds === 0n || seconds > secondsMax) return undefined
  return isSignature(signature.subarray(timestampBytes), cosignedText(body, seconds), key) ? Number(seconds) : undefined
}

/** Those of the known witnesses among the lines; others are ignored. Throws NoteFault where one of theirs does not verify. */
export const readCosignatures = (lines: string, body: string, keys: readonly WitnessKey[]): readonly Cosignature[] => {
  const signatures = readSignatureLines(lines)
  return keys.flatMap((key) =>
    signaturesOf(signatures, key, key.type).map(({ signature, line }) => {
      const seconds = readTime(signature, body, key)
      if (seconds === undefined) throw new NoteFault(`the cosignature of ${key.name} is not valid`)
      return { witness: key.name, seconds, line }
    }),
  )
}
