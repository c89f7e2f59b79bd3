/** A dependency or capability of the process; `detail` explains a failure. */
export interface Check {
  readonly ok: boolean
  readonly reason?: string
}

export type Checks = Readonly<Record<string, Check>>

export const passing: Check = { ok: true }

export const checkOf = (ok: boolean, reason: string): Check => (ok ? passing : { ok, reason })

export const allPass = (checks: Checks): boolean => Object.values(checks).every(({ ok }) => ok)
