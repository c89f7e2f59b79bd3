import { createPrivateKey, type KeyObject } from 'node:crypto'
import { createSigner, NoteFault, type Signer } from './note.ts'

const seedPattern = /^[A-Za-z0-9+/]{43}=$/

const readPem = (text: string): KeyObject => {
  try {
    return createPrivateKey(text)
  } catch {
    throw new NoteFault('not a private key that can be read') // The library's message could quote the key.
  }
}

const signerOfPem = (name: string, text: string): Signer => {
  const privateKey = readPem(text)
  if (privateKey.asymmetricKeyType === 'ed25519') return { name, privateKey }
  throw new NoteFault(`an Ed25519 key is needed, not one of ${privateKey.asymmetricKeyType}`)
}

/** From base64 of an Ed25519 seed, or a PEM (PKCS #8). Throws NoteFault, which never quotes the text. */
export const parseSigningKey = (name: string, text: string): Signer => {
  const key = text.trim()
  if (seedPattern.test(key)) return createSigner(name, Buffer.from(key, 'base64'))
  if (key.startsWith('-----BEGIN ')) return signerOfPem(name, key)
  throw new NoteFault('not a private key: expected 32 bytes in base64, or a PEM')
}

export const signingKeyText = (seed: Uint8Array): string => Buffer.from(seed).toString('base64')
