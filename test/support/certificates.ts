import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'

/** Paths of PEM files. */
export interface Certificate {
  readonly certFile: string
  readonly keyFile: string
}

/** A certificate authority that ends with its test, and what it has signed, as PEM files in a folder. */
export interface Certificates {
  readonly caFile: string
  /** For `localhost` and 127.0.0.1; serves both ends of a connection. */
  readonly server: Certificate
  /** A certificate for a client, which has this common name. */
  newClient(name: string): Promise<Certificate>
  remove(): Promise<void>
}

interface Authority {
  readonly key: string
  readonly cert: string
}

const elliptic = { keyType: 'ec', algorithm: 'sha256' } as const

const commonName = (name: string) => [{ name: 'commonName', value: name }]

const newAuthority = async (): Promise<Authority> => {
  const { private: key, cert } = await generate(commonName(`Authority of a test ${randomUUID()}`), {
    ...elliptic,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  })
  return { key, cert }
}

type Extensions = NonNullable<NonNullable<Parameters<typeof generate>[1]>['extensions']>

const loopback: Extensions[number] = {
  name: 'subjectAltName',
  altNames: [
    { type: 2, value: 'localhost' },
    { type: 7, ip: '127.0.0.1' },
  ],
}

const serverExtensions: Extensions = [{ name: 'extKeyUsage', serverAuth: true, clientAuth: true }, loopback]
const clientExtensions: Extensions = [{ name: 'extKeyUsage', clientAuth: true }]

class Folder {
  readonly path: string
  readonly #authority: Authority

  constructor(path: string, authority: Authority) {
    this.path = path
    this.#authority = authority
  }

  async sign(name: string, extensions: Extensions): Promise<Certificate> {
    const { private: key, cert } = await generate(commonName(name), {
      ...elliptic,
      ca: this.#authority,
      extensions: [{ name: 'basicConstraints', cA: false }, ...extensions],
    })
    return { certFile: await this.write(`${name}.pem`, cert), keyFile: await this.write(`${name}.key`, key) }
  }

  async write(name: string, text: string): Promise<string> {
    const file = join(this.path, name)
    await writeFile(file, text, { mode: 0o600 })
    return file
  }
}

/** Makes an authority of its own at each call: none trusts another's certificates. */
export const makeCertificates = async (): Promise<Certificates> => {
  const authority = await newAuthority()
  const folder = new Folder(await mkdtemp(join(tmpdir(), 'gateway-certificates-')), authority)
  return {
    caFile: await folder.write('ca.pem', authority.cert),
    server: await folder.sign('localhost', serverExtensions),
    newClient: (name) => folder.sign(name, clientExtensions),
    remove: () => rm(folder.path, { recursive: true, force: true }),
  }
}
