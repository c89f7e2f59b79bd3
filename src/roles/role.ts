import type { EventType } from '../events/envelope.ts'
import type { LogOf } from '../log/event-log.ts'
import type { Checks } from '../runtime/health.ts'

export const roleNames = ['edge', 'proxy', 'video-poller', 'projector', 'scheduler'] as const
export type RoleName = (typeof roleNames)[number]

/** What a process runs as: one role, all of them, or one command. The log names it as the source of what it appends. */
export type ProcessRole = RoleName | 'gateway' | 'operator'

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
