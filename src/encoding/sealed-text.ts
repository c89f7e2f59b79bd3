import { createCipheriv, createDecipheriv } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** What can be opened for the same purpose alone. The nonce is made of `randomText`: base64url, of at least 12 bytes. */
export const sealText = (key: Buffer, randomText: string, purpose: string, bytes: Uint8Array): string => {
  const nonce = Buffer.from(randomText, 'base64url').subarray(0, nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(purpose))
  const encrypted = Buffer.concat([cipher.update(bytes), cipher.final()])
  return Buffer.concat([nonce, encrypted, cipher.getAuthTag()]).toString('base64url')
}

/** Undefined for a text that was not sealed with this key, for this purpose. */
export const openSealedText = (key: Buffer, purpose: string, text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== text) return undefined
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes))
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-tagBytes))
  const opened = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
  try {
    return Buffer.concat([opened, decipher.final()])
  } catch {
    return undefined
  }
}
