import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import { vendorLimits } from './limits.ts'
import type { VendorCredential } from './vendor.ts'

export interface Authorization {
  token(): string
  /** The vendor refused the last token: the next one is newly made. */
  forget(): void
  /** Must be removed from the vendor's messages: of the credential before, too. */
  secrets(): readonly string[]
  replace(credential: VendorCredential): void
}

type Fixed = Omit<Authorization, 'replace'>

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

const keyAuthorization = (apiKey: string): Fixed => ({
  token: () => apiKey,
  forget: () => undefined,
  secrets: () => [apiKey],
})

const tokenAuthorization = (pair: Pair, clock: () => number): Fixed => {
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
const openFixed = (credential: VendorCredential, clock: () => number): Fixed =>
  credential.type === 'key' ? keyAuthorization(credential.apiKey) : tokenAuthorization(credential, clock)

export const authorizationOf = (credential: VendorCredential, clock: () => number): Authorization => {
  let present = openFixed(credential, clock)
  let formerSecrets: readonly string[] = []
  return {
    token: () => present.token(),
    forget: () => present.forget(),
    secrets: () => [...present.secrets(), ...formerSecrets],
    replace: (next) => {
      formerSecrets = present.secrets()
      present = openFixed(next, clock)
    },
  }
}
