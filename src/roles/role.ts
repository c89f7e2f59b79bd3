import type { EventType } from '../events/envelope.ts'
import type { LogOf } from '../log/event-log.ts'
import type { Checks } from '../runtime/health.ts'

export const roleNames = ['edge', 'proxy', 'video-poller', 'projector', 'scheduler'] as const
export type RoleName = (typeof roleNames)[number]

/** Roles that run together in one process, by the name of that process. */
export const roleGroups = {
  worker: ['edge', 'proxy'],
  background: ['projector', 'scheduler', 'video-poller'],
} as const satisfies Readonly<Record<string, readonly RoleName[]>>

/** What `serve --role` runs. */
export type ServedRole = RoleName | keyof typeof roleGroups

/** What a process runs as: a role, several, all of them, or one command. */
export type ProcessRole = ServedRole | 'gateway' | 'operator'

const rolesByProcess: Readonly<Record<string, readonly RoleName[]>> = {
  ...roleGroups,
  gateway: roleNames,
  operator: [],
}

export const runsRole = (process: ProcessRole, role: RoleName): boolean =>
  process === role || rolesByProcess[process]?.includes(role) === true

/** The name under which it appends to the log: a process of several roles as the whole gateway, which every release reads. */
export const writerRoleOf = (process: ProcessRole): RoleName | 'gateway' | 'operator' =>
  process === 'worker' || process === 'background' ? 'gateway' : process

/** A manifest: what a role consumes and emits. An append of anything else does not compile. */
export interface Role<Emits extends EventType, Parts, Running extends RunningRole = RunningRole> {
  readonly name: RoleName
  readonly emits: readonly Emits[]
  readonly start: (parts: Parts) => Promise<Running>
}

export interface RunningRole {
  stop(): Promise<void>
}

export interface WatchedRole extends RunningRole {
  checks(): Checks
}

export const defineRole = <
  Emits extends EventType,
  Parts extends { readonly log: LogOf<Emits> },
  Running extends RunningRole,
>(
  role: Role<Emits, Parts, Running>,
): Role<Emits, Parts, Running> => role
