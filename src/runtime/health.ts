import type { RunningRole } from '../roles/role.ts'

/** Whether something that a process needs is as it must be, and in words what is not. */
export interface Check {
  readonly ok: boolean
  readonly reason?: string
}

/** By what is checked. */
export type Checks = Readonly<Record<string, Check>>

/** A role that tells whether it can do its work. */
export interface WatchedRole extends RunningRole {
  checks(): Checks
}

export const passing: Check = { ok: true }

export const checkOf = (ok: boolean, reason: string): Check => (ok ? passing : { ok, reason })

export const allPass = (checks: Checks): boolean => Object.values(checks).every(({ ok }) => ok)
