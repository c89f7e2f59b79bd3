import { randomOf } from '../support/random.ts'
import { drawWeighted, drawWhole, type Random } from './draw.ts'
import type { HostKind } from './hosts.ts'
import type { CrashPlace } from './ports.ts'
import { drawVideo, type VideoAction } from './video-plan.ts'

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

const acknowledgedSubjects = ['journal', 'wallet', 'outcome', 'task'] as const
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
  readonly hosts: readonly HostKind[]
  readonly actions: readonly At<Action>[]
  readonly faults: readonly At<Fault>[]
}

export const workspacesCount = 4
/** On average between two actions: hurried clients compete for money, patient ones meet what takes its time. */
const paces: readonly (readonly [number, number])[] = [
  [15, 1],
  [30, 1],
  [60, 1],
]
/** On average between two faults. */
const actionsOfFault = 33
/** Every eighth seed has no fault of the world: there the gateway may not fail either. */
const calmEvery = 8
/** In every sixteenth packets alone are lost, which are sent again; in another as many proxies die unnoticed, too. */
const lossyEvery = 16
/** Bytes of an answer, and how many come in a millisecond. */
const leavesAfterMax = 1_500
const leavesBytesOfMs = 10
/** An operator or a client that had no answer. */
const retryWithinMs = 25_000

const modes: readonly (readonly [AttemptMode, number])[] = [
  ['answers', 72],
  ['answers_late', 8],
  ['fails', 5],
  ['is_busy', 3],
  ['breaks_network', 3],
  ['is_silent', 1],
  ['breaks_off', 4],
  ['omits_usage', 2],
  ['contradicts_usage', 2],
]

/** Most leave after some bytes, every fourth after some time. */
const drawLeave = (random: Random): Pick<ChatAction, 'leavesAfter' | 'leavesAfterMs'> => {
  const drawn = random() < 0.08 ? drawWhole(random, leavesAfterMax) : null
  if (drawn === null || drawn % 4 > 0) return { leavesAfter: drawn }
  return { leavesAfter: null, leavesAfterMs: drawn / leavesBytesOfMs }
}

const chat = (random: Random, number: number): ChatAction => ({
  type: 'chat',
  workspace: drawWhole(random, workspacesCount),
  number,
  isLimitedKey: random() < 0.3,
  newKey: random() < 0.15 ? random() : null,
  maxTokens: random() < 0.1 ? Math.ceil(number / 2) : 2_500,
  stream: random() < 0.5,
  router: random() < 0.3,
  attempts: [drawWeighted(random, modes), drawWeighted(random, modes)],
  ...drawLeave(random),
  isRepeatable: random() < 0.15,
})

const administer = (random: Random, number: number): AdminAction => {
  const workspace = drawWhole(random, workspacesCount)
  const isRepeated = random() < 0.3
  return drawWeighted<() => AdminAction>(random, [
    [
      () => ({
        type: 'credit',
        isRepeated,
        workspace,
        usd: (1 + drawWhole(random, 300) / 100).toFixed(2),
        reference: `credit-${number}`,
        lapsesAfterMs: random() < 0.4 ? random() * 20_000 : null,
      }),
      5,
    ],
    [
      () => ({
        type: 'limits',
        isRepeated,
        workspace,
        requestsPerMinute: random() < 0.5 ? null : 20 + drawWhole(random, 600),
      }),
      2,
    ],
    [() => ({ type: 'price', isRepeated, output: String(50 + drawWhole(random, 100)), version: number }), 1],
    [
      () => ({ type: 'subscribe', isRepeated, workspace, id: `sub-${number}`, plan: random() < 0.5 ? 'pro' : 'team' }),
      1,
    ],
    [() => ({ type: 'cancel_plan', isRepeated, workspace }), 0.3],
    [() => ({ type: 'credit_limit', isRepeated, workspace, usd: String(drawWhole(random, 4)) }), 1],
    [() => ({ type: 'key_limits', isRepeated, workspace, usd: String(1 + drawWhole(random, 8)) }), 1],
    [
      () => ({
        type: 'issue_key',
        isRepeated,
        workspace,
        name: `key-${number}`,
        expiresAfterMs: random() < 0.3 ? random() * 20_000 : null,
      }),
      2,
    ],
    [() => ({ type: 'revoke_key', isRepeated, workspace, draw: random() }), 1],
    [
      () => ({ type: 'rotate_key', isRepeated: false, workspace, draw: random(), graceSeconds: drawWhole(random, 5) }),
      1,
    ],
  ])()
}

/** A video and its repeats. */
const videos = (random: Random, atMs: number, number: number): readonly At<VideoAction>[] => {
  const what = drawVideo(random, drawWhole(random, workspacesCount), number)
  const repeats = what.repeatedBy === 'nothing' ? 0 : drawWhole(random, 3)
  const later = Array.from({ length: repeats }, () => atMs + (random() < 0.3 ? 0 : random() ** 2 * 20_000))
  return [atMs, ...later].map((each) => ({ atMs: each, what }))
}

/** The same whenever it is sent. */
const mayRetry = (action: AdminAction): boolean =>
  action.type === 'subscribe' || (action.type === 'credit' && action.lapsesAfterMs === null)

const makeActions = (random: Random, count: number, everyMs: number): readonly At<Action>[] => {
  const actions: At<Action>[] = []
  let atMs = 0
  for (let number = 1; actions.length < count; number += 1) {
    atMs += random() * 2 * everyMs
    if (random() < 0.06) {
      const what = administer(random, number)
      actions.push({ atMs, what })
      if (what.type === 'credit' && random() < 0.3)
        actions.push({ atMs, what: { ...what, isRepeated: false, reference: `${what.reference}-beside` } })
      if (what.type === 'revoke_key')
        for (let use = 0; use < 2; use += 1) {
          const { workspace, draw: newKey } = what
          actions.push({
            atMs: atMs + 4_500 + random() * 5_000,
            what: { ...chat(random, ++number), workspace, newKey },
          })
        }
      if (mayRetry(what) && random() < 0.4) actions.push({ atMs: atMs + random() * retryWithinMs, what })
      continue
    }
    if (random() < 0.04) {
      actions.push(...videos(random, atMs, number))
      continue
    }
    if (random() < 0.002) {
      const usd = (1 + random()).toFixed(2)
      const what = { type: 'command', workspace: drawWhole(random, workspacesCount), usd } as const
      actions.push({ atMs, what: { ...what, reference: `command-${number}` } })
      continue
    }
    const what = chat(random, number)
    actions.push({ atMs, what })
    const { leavesAfterMs: _, ...staying } = what
    if (what.isRepeatable)
      for (let repeat = drawWhole(random, 3); repeat > 0; repeat -= 1)
        actions.push({ atMs: atMs + random() * retryWithinMs, what: { ...staying, leavesAfter: null } })
  }
  return actions.toSorted((one, other) => one.atMs - other.atMs)
}

const fault = (random: Random): Fault => {
  const host = drawWhole(random, 100)
  return drawWeighted<() => Fault>(random, [
    [
      () => ({
        type: 'crash_at',
        port: drawWhole(random, 1_000),
        place: random() < 0.5 ? 'before' : 'after',
        skipped: drawWhole(random, 4),
      }),
      10,
    ],
    [() => ({ type: 'kill', host, isSilent: random() < 0.3 }), 2],
    [() => ({ type: 'stop', host }), 2],
    [() => ({ type: 'stall', host, ms: 100 + random() ** 3 * 20_000 }), 3],
    [
      () => ({
        type: 'lose_acknowledgements',
        count: 1 + drawWhole(random, 3),
        of: acknowledgedSubjects[drawWhole(random, acknowledgedSubjects.length)]!,
      }),
      4,
    ],
    [() => ({ type: 'delay_acknowledgements', ms: random() * 4_000, forMs: random() * 2_000 }), 2],
    [() => ({ type: 'restart_nats', downMs: 50 + random() ** 2 * 6_000 }), 1],
    [() => ({ type: 'forget_consumers' }), 3],
    [() => ({ type: 'lose_packets', count: 1 + drawWhole(random, 3) }), 2],
    [() => ({ type: 'clock_jump', host, ms: (random() - 0.5) * 10_000 }), 1],
    [() => ({ type: 'tables_down', ms: random() * 8_000 }), 1],
    [() => ({ type: 'vendor_down', ms: random() * 8_000 }), 1],
    [() => ({ type: 'isolate', host, ms: 100 + random() ** 2 * 12_000 }), 2],
    [() => ({ type: 'cut', host }), 1],
    [() => ({ type: 'change_leader', ms: 50 + random() ** 2 * 5_000 }), 1],
    [() => ({ type: 'fill_disk', ms: 50 + random() ** 2 * 5_000 }), 1],
  ])()
}

/** Of processes with one role each more follow the log, so that they cost twice as much. */
const gatewaysShare = 0.6
const workersShare = 0.15

/**
 * Every role in each process, workers with what runs behind them, or each role in processes of its own: of those that stand in for
 * each other now and then two.
 */
const drawHosts = (random: Random, isApart: boolean): readonly HostKind[] => {
  const drawn = random()
  if (drawn < gatewaysShare && !isApart) return ['gateway', 'gateway']
  const oneOrTwo = (kind: HostKind): readonly HostKind[] => (random() < 0.7 ? [kind] : [kind, kind])
  if (drawn < gatewaysShare + workersShare && !isApart) return ['worker', 'worker', ...oneOrTwo('background')]
  const standIns = (['scheduler', 'projector', 'video-poller'] as const).flatMap(oneOrTwo)
  return ['edge', 'edge', 'proxy', 'proxy', ...standIns]
}

const firstProxy = 2

const lossyFault = (random: Random, proxiesDie: boolean): Fault =>
  proxiesDie && random() < 0.2
    ? { type: 'kill', host: firstProxy + drawWhole(random, 2), isSilent: true }
    : { type: 'lose_packets', count: 1 + drawWhole(random, 3) }

/** All that happens in a run, but for the delays. */
export const makePlan = (seed: number, actionsCount: number): Plan => {
  const random = randomOf(seed)
  const isLossy = seed % (lossyEvery / 2) === 7
  const hosts = drawHosts(random, isLossy)
  const everyMs = drawWeighted(random, paces)
  const actions = makeActions(random, actionsCount, everyMs)
  const endMs = actions.at(-1)?.atMs ?? 0
  if (seed % calmEvery === 3) return { seed, hosts, actions, faults: [] }
  const faults: At<Fault>[] = []
  const faultEveryMs = actionsOfFault * everyMs
  for (let atMs = random() * faultEveryMs; atMs < endMs; atMs += random() * 2 * faultEveryMs)
    faults.push({ atMs, what: isLossy ? lossyFault(random, seed % lossyEvery !== 7) : fault(random) })
  if (random() < 0.3 && !isLossy)
    faults.push({ atMs: endMs * random(), what: { type: 'pass_night', isKilled: random() < 0.5 } })
  return { seed, hosts, actions, faults }
}

/** One line an action or fault, in order. */
export const formatPlan = ({ seed, hosts, actions, faults }: Plan): string =>
  [
    `plan of seed ${seed}, processes ${hosts.join(', ')}:`,
    ...[...actions, ...faults]
      .toSorted((one, other) => one.atMs - other.atMs)
      .map(({ atMs, what }) => `  ${atMs.toFixed(1)} ms ${JSON.stringify(what)}`),
  ].join('\n')
