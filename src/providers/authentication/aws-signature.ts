import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import type { UnsignedRequest } from '../dialect/authenticator.ts'

export interface AwsKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of keys that are issued for a time. */
  readonly sessionToken?: string
}

type HashInput = string | ArrayBuffer | ArrayBufferView

const bytesOf = (data: HashInput): Uint8Array => {
  if (typeof data === 'string') return Buffer.from(data)
  return data instanceof ArrayBuffer
    ? new Uint8Array(data)
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

/** As the signer takes a hash: with a secret it is an HMAC. */
class Sha256 {
  readonly #secret: Uint8Array | null
  #hash: Hash | Hmac

  constructor(secret?: HashInput) {
    this.#secret = secret === undefined ? null : bytesOf(secret)
    this.#hash = this.#begin()
  }

  update(data: HashInput): void {
    this.#hash.update(bytesOf(data))
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest())
  }

  reset(): void {
    this.#hash = this.#begin()
  }

  #begin(): Hash | Hmac {
    return this.#secret === null ? createHash('sha256') : createHmac('sha256', this.#secret)
  }
}

interface Signing {
  readonly keys: AwsKeys
  readonly region: string
  readonly service: string
  readonly nowMs: number
}

/** Proxies may change or add other headers on the way. */
const signedHeaders = ({ url, headers }: UnsignedRequest): Record<string, string> => ({
  host: new URL(url).host,
  ...(headers['content-type'] === undefined ? {} : { 'content-type': headers['content-type'] }),
})

/** The headers of AWS Signature Version 4 to add. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html */
export const signForAws = async (
  request: UnsignedRequest,
  { keys, region, service, nowMs }: Signing,
): Promise<Readonly<Record<string, string>>> => {
  const signer = new SignatureV4({ credentials: keys, region, service, sha256: Sha256, applyChecksum: false })
  const { hostname, pathname, searchParams, protocol } = new URL(request.url)
  const { headers } = await signer.sign(
    {
      method: request.method,
      protocol,
      hostname,
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: signedHeaders(request),
      body: request.body,
    },
    { signingDate: new Date(nowMs) },
  )
  const { host: _own, ...added } = headers
  return added
}
