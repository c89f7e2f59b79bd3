import { minOf } from '../money.ts'

export interface Grant {
  readonly reference: string
  readonly remainingPicos: bigint
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number
}

export type Grants = readonly Grant[]

const inOrder = (one: Grant, other: Grant): number =>
  one.expiresAtMs - other.expiresAtMs || (one.reference < other.reference ? -1 : 1)

export const addGrant = (grants: Grants, grant: Grant): Grants => [...grants, grant].sort(inOrder)

const drawGrant = (grant: Grant, drawnPicos: bigint): Grants =>
  drawnPicos === grant.remainingPicos ? [] : [{ ...grant, remainingPicos: grant.remainingPicos - drawnPicos }]

export const spendGrants = (grants: Grants, amountPicos: bigint, atMs = Number.NEGATIVE_INFINITY): Grants => {
  if (grants.length === 0) return grants
  let leftPicos = amountPicos
  return grants.flatMap((grant) => {
    if (grant.expiresAtMs <= atMs) return [grant]
    const drawnPicos = minOf(leftPicos, grant.remainingPicos)
    leftPicos -= drawnPicos
    return drawGrant(grant, drawnPicos)
  })
}

export const expireGrant = (
  grants: Grants,
  reference: string,
  amountPicos: bigint,
): { readonly grants: Grants; readonly lapsedPicos: bigint } => {
  const grant = grants.find((each) => each.reference === reference)
  const lapsedPicos = minOf(amountPicos, grant?.remainingPicos ?? 0n)
  return { grants: grants.flatMap((each) => (each === grant ? drawGrant(each, lapsedPicos) : [each])), lapsedPicos }
}

export const expiredPicosAt = (grants: Grants, atMs: number): bigint =>
  grants.reduce((sum, { remainingPicos, expiresAtMs }) => (expiresAtMs <= atMs ? sum + remainingPicos : sum), 0n)

/** The part of a grant that no hold can claim: held money is spent from the grants first, in their order. */
export const unheldPicos = (grants: Grants, reference: string, heldPicos: bigint): bigint => {
  const place = grants.findIndex((grant) => grant.reference === reference)
  const uptoPicos = grants.slice(0, place + 1).reduce((sum, { remainingPicos }) => sum + remainingPicos, 0n)
  if (uptoPicos <= heldPicos) return 0n
  return minOf(grants[place]?.remainingPicos ?? 0n, uptoPicos - heldPicos)
}
