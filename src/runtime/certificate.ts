import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { faultText } from '../errors/gateway-error.ts'

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

interface Certificate {
  readonly cert: string
  readonly key: string
}

const attempt = <T>(file: string, read: () => T, failing = ''): T => {
  try {
    return read()
  } catch (cause) {
    throw new Error(`${file}: ${failing}${faultText(cause)}`, { cause })
  }
}

/** Throws an error that names the file where one cannot be read, is not PEM, or the two do not belong together. */
export const readCertificate = ({ certFile, keyFile }: CertificateFiles): Certificate => {
  const cert = attempt(certFile, () => readFileSync(certFile, 'utf8'))
  const key = attempt(keyFile, () => readFileSync(keyFile, 'utf8'))
  if (key.includes('ENCRYPTED')) throw new Error(`${keyFile} has a passphrase: store the key without one`)
  const certificate = attempt(certFile, () => new X509Certificate(cert), 'it holds no certificate in PEM: ')
  const privateKey = attempt(keyFile, () => createPrivateKey(key), 'it holds no private key in PEM: ')
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`${keyFile} is not the key of ${certFile}`)
  attempt(certFile, () => createSecureContext({ cert, key }))
  return { cert, key }
}
