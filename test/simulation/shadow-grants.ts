interface ShadowGrant {
  readonly reference: string
  readonly lapsesMs: number
  picos: bigint
}

/** What is left of a workspace's credits that lapse: those that lapse first are spent first. */
export class ShadowGrants {
  readonly #grants: ShadowGrant[] = []

  add(reference: string, picos: bigint, lapsesMs: number): void {
    this.#grants.push({ reference, picos, lapsesMs })
    this.#grants.sort((one, other) => one.lapsesMs - other.lapsesMs || (one.reference < other.reference ? -1 : 1))
  }

  /** A fee is not taken from what has lapsed at its instant. */
  spend(picos: bigint, atMs = Number.NEGATIVE_INFINITY): void {
    let left = picos
    for (const grant of this.#grants) {
      if (grant.lapsesMs <= atMs) continue
      const spent = left < grant.picos ? left : grant.picos
      grant.picos -= spent
      left -= spent
    }
  }

  /** What was left of the credit. */
  lapse(reference: string, picos: bigint): bigint {
    const grant = this.#grants.find((each) => each.reference === reference)
    if (grant === undefined) return 0n
    const left = grant.picos
    grant.picos = left > picos ? left - picos : 0n
    return left
  }
}
