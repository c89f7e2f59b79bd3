import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import { vendorLimits } from './limits.ts'
import type { VendorCredential } from './vendor.ts'

export interface Authorization {
  token(): string
  /** The vendor refused the last token: the next one is newly made. */
  forget(): void
  /** Must be removed from the vendor's messages. */
  secrets(): readonly string[]
}

type Pair = Extract<VendorCredential, { readonly type: 'pair' }>

const tokenSeconds = 1_800
/** The vendor's clock may be behind ours. */
const earlySeconds = 5

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

const tokenHeader = encode({ alg: 'HS256', typ: 'JWT' })

const signToken = ({ accessKey, secretKey }: Pair, nowSeconds: number): string => {
  const claims = { iss: accessKey, exp: nowSeconds + tokenSeconds, nbf: nowSeconds - earlySeconds }
  const signed = `${tokenHeader}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', secretKey).update(signed).digest('base64url')}`
}

const keyAuthorization = (apiKey: string): Authorization => ({
  token: () => apiKey,
  forget: () => undefined,
  secrets: () => [apiKey],
})

const tokenAuthorization = (pair: Pair, clock: () => number): Authorization => {
  const keptMs = tokenSeconds * 1_000 - vendorLimits.videoTokenRenewMs
  let token = ''
  let madeMs = Number.NEGATIVE_INFINITY
  const isFresh = (nowMs: number): boolean => nowMs >= madeMs && nowMs < madeMs + keptMs
  return {
    token: () => {
      const nowMs = clock()
      if (isFresh(nowMs)) return token
      token = signToken(pair, Math.floor(nowMs / 1_000))
      madeMs = nowMs
      return token
    },
    forget: () => {
      madeMs = Number.NEGATIVE_INFINITY
    },
    secrets: () => [pair.secretKey, pair.accessKey, token],
  }
}

/** A bearer key as it is, or JWTs made from a key pair, each used until shortly before it expires. */
export const authorizationOf = (credential: VendorCredential, clock: () => number): Authorization =>
  credential.type === 'key' ? keyAuthorization(credential.apiKey) : tokenAuthorization(credential, clock)
