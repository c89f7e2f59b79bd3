import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** Signed notes (C2SP `signed-note` and `tlog-checkpoint`), which anyone can verify with the public key. Ed25519. */
export interface Checkpoint {
  /** Names the log; the same in all its checkpoints. */
  readonly origin: string
  /** Frames sealed: those of the sequences 1 to `size`. */
  readonly size: number
  readonly root: Buffer
  /** Lines that are signed with it; absent: none. */
  readonly extensions?: readonly string[]
}

export interface Signer {
  readonly name: string
  readonly privateKey: KeyObject
}

export interface Verifier {
  readonly name: string
  readonly publicKey: KeyObject
}

/** Of a key whose signature is over the note's text alone. */
export const noteKeyType = 1
const rawKeyBytes = 32
const keyIdBytes = 4
const signatureBytes = 64
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex')
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const namePattern = /^[^\s+]{1,255}$/

export class NoteFault extends Error {
  override readonly name = 'NoteFault'
}

const rawPublicKeys = new WeakMap<KeyObject, Buffer>()

const rawPublicKey = (key: KeyObject): Buffer => {
  const raw = rawPublicKeys.get(key) ?? key.export({ type: 'spki', format: 'der' }).subarray(spkiPrefix.length)
  rawPublicKeys.set(key, raw)
  return raw
}

export const keyIdOf = (name: string, key: KeyObject, type = noteKeyType): Buffer =>
  createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.of(type))
    .update(rawPublicKey(key))
    .digest()
    .subarray(0, keyIdBytes)

const assertName = (name: string): void => {
  if (!namePattern.test(name)) throw new NoteFault(`not a key's name: ${JSON.stringify(name)}`)
}

export const keyText = ({ name, publicKey }: Verifier, type: number): string => {
  const key = Buffer.concat([Buffer.of(type), rawPublicKey(publicKey)])
  return `${name}+${keyIdOf(name, publicKey, type).toString('hex')}+${key.toString('base64')}`
}

/** `<name>+<key id>+<key>`, the public form of a key. */
export const verifierText = (verifier: Verifier): string => keyText(verifier, noteKeyType)

export interface NamedKey {
  readonly name: string
  readonly type: number
  readonly bytes: Buffer
  /** Hex. */
  readonly id: string
}

/** Null where the text has not the form of a public key. */
export const splitKeyText = (text: string): NamedKey | null => {
  const [, name, id, base64] = /^([^\s+]{1,255})\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text.trim()) ?? []
  if (name === undefined || id === undefined || base64 === undefined) return null
  const [type = 0, ...bytes] = Buffer.from(base64, 'base64')
  return { name, type, bytes: Buffer.from(bytes), id }
}

/** Throws NoteFault where the bytes are no Ed25519 key, or the id beside them is another's. */
export const readKey = ({ name, type, bytes, id }: NamedKey): Verifier => {
  if (bytes.length !== rawKeyBytes) throw new NoteFault(`an Ed25519 key has ${rawKeyBytes} bytes, not ${bytes.length}`)
  const publicKey = createPublicKey({ key: Buffer.concat([spkiPrefix, bytes]), type: 'spki', format: 'der' })
  if (keyIdOf(name, publicKey, type).toString('hex') !== id)
    throw new NoteFault('the public key does not have the id beside it')
  return { name, publicKey }
}

/** Throws NoteFault if the text is not an Ed25519 key of a log, or has another key's id. */
export const parseVerifier = (text: string): Verifier => {
  const key = splitKeyText(text)
  if (key?.type !== noteKeyType || key.bytes.length !== rawKeyBytes)
    throw new NoteFault('not a public key of a log: expected <name>+<id>+<key>, Ed25519')
  return readKey(key)
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

const bodyOf = ({ origin, size, root, extensions = [] }: Checkpoint): string =>
  [origin, size, root.toString('base64'), ...extensions, ''].join('\n')

export const signCheckpoint = (checkpoint: Checkpoint, { name, privateKey }: Signer): string => {
  const body = bodyOf(checkpoint)
  const id = keyIdOf(name, createPublicKey(privateKey))
  const signature = Buffer.concat([id, sign(null, Buffer.from(body), privateKey)])
  return `${body}\n— ${name} ${signature.toString('base64')}\n`
}

export const parseBody = (body: string): Checkpoint => {
  const [, origin, size, root, lines = ''] =
    /^([^\n]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n((?:[^\n]+\n)*)$/.exec(body) ?? []
  if (origin === undefined || size === undefined || root === undefined)
    throw new NoteFault('not a checkpoint: expected origin, size and root hash, a line each')
  if (!Number.isSafeInteger(Number(size))) throw new NoteFault('the size of the checkpoint is beyond 2^53 - 1')
  const extensions = lines === '' ? {} : { extensions: lines.trimEnd().split('\n') }
  return { origin, size: Number(size), root: Buffer.from(root, 'base64'), ...extensions }
}

interface NoteSignature {
  readonly name: string
  readonly keyId: Buffer
  readonly signature: Buffer
  readonly line: string
}

export interface SplitNote {
  /** What is signed, with its last line feed. */
  readonly body: string
  readonly signatures: readonly NoteSignature[]
}

/** Lines of another form are left out. */
export const readSignatureLines = (text: string): readonly NoteSignature[] =>
  text.split('\n').flatMap((line) => {
    const [, name, base64] = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? []
    const bytes = Buffer.from(base64 ?? '', 'base64')
    if (name === undefined || bytes.length <= keyIdBytes) return []
    return [{ name, keyId: bytes.subarray(0, keyIdBytes), signature: bytes.subarray(keyIdBytes), line }]
  })

/** Throws NoteFault where no signature follows the text. */
export const splitNote = (note: string): SplitNote => {
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n')) throw new NoteFault('not a signed note: no signature')
  return { body: note.slice(0, end + 1), signatures: readSignatureLines(note.slice(end + 2)) }
}

/** Those that name the key. */
export const signaturesOf = <Key extends Verifier>(
  signatures: readonly NoteSignature[],
  { name, publicKey }: Key,
  type = noteKeyType,
): readonly NoteSignature[] => {
  const id = keyIdOf(name, publicKey, type)
  return signatures.filter((each) => each.name === name && each.keyId.equals(id))
}

/** Of a note that none of the keys has signed, nor is named by: the first key that it names. Throws NoteFault. */
export const findUnknownKey = (note: string, known: readonly Verifier[]): string | null => {
  const { signatures } = splitNote(note)
  if (known.some((key) => signaturesOf(signatures, key).length > 0)) return null
  const [first] = signatures
  return first === undefined ? null : `${first.name}+${first.keyId.toString('hex')}`
}

export const isSignature = (signature: Buffer, text: string, { publicKey }: Verifier): boolean =>
  signature.length === signatureBytes && verify(null, Buffer.from(text), publicKey, signature)

/** Throws NoteFault if the note is malformed or not signed by the verifier, or of another log than its key or `origin`. */
export const openCheckpoint = (note: string, verifier: Verifier, origin: string = verifier.name): Checkpoint => {
  const { body, signatures } = splitNote(note)
  const checkpoint = parseBody(body)
  const named = signaturesOf(signatures, verifier)
  if (named.length === 0 || !named.every(({ signature }) => isSignature(signature, body, verifier)))
    throw new NoteFault(`the checkpoint of size ${checkpoint.size} is not signed by ${verifier.name}`)
  if (checkpoint.origin !== origin)
    throw new NoteFault(`the checkpoint is of the log ${checkpoint.origin}, not of ${origin}`)
  return checkpoint
}
