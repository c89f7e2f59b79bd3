import type { HostKind } from './hosts.ts'
import type { CrashPlace } from './ports.ts'
import type { VideoAction } from './video-plan.ts'

/** How a provider treats one attempt. */
export type AttemptMode =
  | 'answers'
  | 'answers_late'
  | 'fails'
  | 'is_busy'
  | 'breaks_network'
  | 'is_silent'
  | 'breaks_off'
  | 'omits_usage'
  | 'contradicts_usage'

export interface ChatAction {
  readonly type: 'chat'
  readonly workspace: number
  /** Its output tokens too, by which its bill is found. */
  readonly number: number
  /** Of the workspace's two keys the one with a spend limit. */
  readonly isLimitedKey: boolean
  /** Draws one of the keys that were issued meanwhile, some of which are revoked; null: not one of those. */
  readonly newKey: number | null
  /** Fewer than its answer has, now and then: it costs more than was reserved. */
  readonly maxTokens: number
  readonly stream: boolean
  readonly router: boolean
  readonly attempts: readonly AttemptMode[]
  /** Bytes of the response after which the client leaves. */
  readonly leavesAfter: number | null
  /** Milliseconds after its request, when it may have no byte yet; absent: it stays. */
  readonly leavesAfterMs?: number
  /** Requests with the same number are repeats under one idempotency key. */
  readonly isRepeatable: boolean
}

/** `isRepeated`: sent to every edge at once. */
export type AdminAction = { readonly isRepeated: boolean } & (
  | {
      readonly type: 'credit'
      readonly workspace: number
      readonly usd: string
      readonly reference: string
      /** Null: never. */
      readonly lapsesAfterMs: number | null
    }
  | { readonly type: 'limits'; readonly workspace: number; readonly requestsPerMinute: number | null }
  | { readonly type: 'price'; readonly output: string; readonly version: number }
  | { readonly type: 'subscribe'; readonly workspace: number; readonly id: string; readonly plan: 'pro' | 'team' }
  | { readonly type: 'cancel_plan'; readonly workspace: number }
  | { readonly type: 'credit_limit'; readonly workspace: number; readonly usd: string }
  | { readonly type: 'key_limits'; readonly workspace: number; readonly usd: string }
  | {
      readonly type: 'issue_key'
      readonly workspace: number
      readonly name: string
      /** Null: never. */
      readonly expiresAfterMs: number | null
    }
  /** Of the keys that were issued meanwhile one. */
  | { readonly type: 'revoke_key'; readonly workspace: number; readonly draw: number }
  | { readonly type: 'rotate_key'; readonly workspace: number; readonly draw: number; readonly graceSeconds: number }
)

/** Of an operator at a terminal, who runs it again where it was killed. */
export interface CommandAction {
  readonly type: 'command'
  readonly workspace: number
  readonly usd: string
  readonly reference: string
}

export type Action = ChatAction | VideoAction | AdminAction | CommandAction

export const acknowledgedSubjects = ['journal', 'wallet', 'outcome', 'task'] as const
export type AcknowledgedSubject = (typeof acknowledgedSubjects)[number]

export type Fault =
  /** A port's place among those that were called, or its name. */
  | { readonly type: 'crash_at'; readonly port: number | string; readonly place: CrashPlace; readonly skipped: number }
  | { readonly type: 'kill'; readonly host: number; readonly isSilent: boolean }
  | { readonly type: 'stop'; readonly host: number }
  | { readonly type: 'stall'; readonly host: number; readonly ms: number }
  | { readonly type: 'lose_acknowledgements'; readonly count: number; readonly of: AcknowledgedSubject }
  | { readonly type: 'delay_acknowledgements'; readonly ms: number; readonly forMs: number }
  | { readonly type: 'restart_nats'; readonly downMs: number }
  /** Of those between processes, whose delivery the nats-server does not promise. */
  | { readonly type: 'lose_packets'; readonly count: number }
  | { readonly type: 'forget_consumers' }
  | { readonly type: 'clock_jump'; readonly host: number; readonly ms: number }
  | { readonly type: 'tables_down'; readonly ms: number }
  | { readonly type: 'vendor_down'; readonly ms: number }
  | { readonly type: 'isolate'; readonly host: number; readonly ms: number }
  | { readonly type: 'cut'; readonly host: number }
  | { readonly type: 'change_leader'; readonly ms: number }
  | { readonly type: 'fill_disk'; readonly ms: number }
  /** All processes end; those that start again find that almost a day has gone by. */
  | { readonly type: 'pass_night'; readonly isKilled: boolean }

export interface At<What> {
  readonly atMs: number
  readonly what: What
}

export interface Plan {
  readonly seed: number
  /** The most that a packet takes on its way; absent: 2. */
  readonly latencyMs?: number
  readonly hosts: readonly HostKind[]
  readonly actions: readonly At<Action>[]
  readonly faults: readonly At<Fault>[]
}
export const workspacesCount = 4

/** One line an action or fault, in order. */
export const formatPlan = ({ seed, hosts, actions, faults }: Plan): string =>
  [
    `plan of seed ${seed}, processes ${hosts.join(', ')}:`,
    ...[...actions, ...faults]
      .toSorted((one, other) => one.atMs - other.atMs)
      .map(({ atMs, what }) => `  ${atMs.toFixed(1)} ms ${JSON.stringify(what)}`),
  ].join('\n')
