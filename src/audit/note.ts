import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** Signed notes (C2SP `signed-note` and `tlog-checkpoint`), which anyone can verify with the public key. Ed25519. */
export interface Checkpoint {
  /** Names the log; the same in all its checkpoints. */
  readonly origin: string
  /** Frames sealed: those of the sequences 1 to `size`. */
  readonly size: number
  readonly root: Buffer
}

export interface Signer {
  readonly name: string
  readonly privateKey: KeyObject
}

export interface Verifier {
  readonly name: string
  readonly publicKey: KeyObject
}

const ed25519 = 1
const rawKeyBytes = 32
const keyIdBytes = 4
const signatureBytes = 64
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex')
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const namePattern = /^[^\s+]{1,255}$/

export class NoteFault extends Error {
  override readonly name = 'NoteFault'
}

const rawPublicKey = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' }).subarray(spkiPrefix.length)

const keyIdOf = (name: string, key: KeyObject): Buffer =>
  createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.of(ed25519))
    .update(rawPublicKey(key))
    .digest()
    .subarray(0, keyIdBytes)

const assertName = (name: string): void => {
  if (!namePattern.test(name)) throw new NoteFault(`not a key's name: ${JSON.stringify(name)}`)
}

/** `<name>+<key id>+<key>`, the public form of a key. */
export const verifierText = ({ name, publicKey }: Verifier): string => {
  const key = Buffer.concat([Buffer.of(ed25519), rawPublicKey(publicKey)])
  return `${name}+${keyIdOf(name, publicKey).toString('hex')}+${key.toString('base64')}`
}

/** Throws NoteFault if the text is not an Ed25519 key of a log, or has another key's id. */
export const parseVerifier = (text: string): Verifier => {
  const [, name, id, base64] = /^([^\s+]{1,255})\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text.trim()) ?? []
  const key = Buffer.from(base64 ?? '', 'base64')
  if (name === undefined || key.length !== rawKeyBytes + 1 || key[0] !== ed25519)
    throw new NoteFault('not a public key of a log: expected <name>+<id>+<key>, Ed25519')
  const publicKey = createPublicKey({ key: Buffer.concat([spkiPrefix, key.subarray(1)]), type: 'spki', format: 'der' })
  if (keyIdOf(name, publicKey).toString('hex') !== id)
    throw new NoteFault('the public key does not have the id beside it')
  return { name, publicKey }
}

export const createSigner = (name: string, seed: Uint8Array): Signer => {
  assertName(name)
  if (seed.length !== rawKeyBytes) throw new NoteFault(`an Ed25519 seed has ${rawKeyBytes} bytes, not ${seed.length}`)
  return {
    name,
    privateKey: createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), type: 'pkcs8', format: 'der' }),
  }
}

export const deriveVerifier = ({ name, privateKey }: Signer): Verifier => ({
  name,
  publicKey: createPublicKey(privateKey),
})

const bodyOf = ({ origin, size, root }: Checkpoint): string => `${origin}\n${size}\n${root.toString('base64')}\n`

export const signCheckpoint = (checkpoint: Checkpoint, { name, privateKey }: Signer): string => {
  const body = bodyOf(checkpoint)
  const id = keyIdOf(name, createPublicKey(privateKey))
  const signature = Buffer.concat([id, sign(null, Buffer.from(body), privateKey)])
  return `${body}\n— ${name} ${signature.toString('base64')}\n`
}

const parseBody = (body: string): Checkpoint => {
  const [, origin, size, root] =
    /^([^\n]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*$/.exec(body) ?? []
  if (origin === undefined || size === undefined || root === undefined)
    throw new NoteFault('not a checkpoint: expected origin, size and root hash, a line each')
  return { origin, size: Number(size), root: Buffer.from(root, 'base64') }
}

const isSignedBy = (line: string, body: string, { name, publicKey }: Verifier): boolean => {
  const [, signer, base64] = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? []
  const signature = Buffer.from(base64 ?? '', 'base64')
  if (signer !== name || signature.length !== keyIdBytes + signatureBytes) return false
  if (!signature.subarray(0, keyIdBytes).equals(keyIdOf(name, publicKey))) return false
  return verify(null, Buffer.from(body), publicKey, signature.subarray(keyIdBytes))
}

/** Throws NoteFault if the note is malformed or not signed by the verifier. */
export const openCheckpoint = (note: string, verifier: Verifier): Checkpoint => {
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n')) throw new NoteFault('not a signed note: no signature')
  const body = note.slice(0, end + 1)
  const checkpoint = parseBody(body)
  const lines = note.slice(end + 2, -1).split('\n')
  if (!lines.some((line) => isSignedBy(line, body, verifier)))
    throw new NoteFault(`the checkpoint of size ${checkpoint.size} is not signed by ${verifier.name}`)
  if (checkpoint.origin !== verifier.name)
    throw new NoteFault(`the checkpoint is of the log ${checkpoint.origin}, not of ${verifier.name}`)
  return checkpoint
}
