import { drawWeighted, drawWhole, type Random } from './draw.ts'
import { type Action, type AdminAction, type At, type AttemptMode, type ChatAction, workspacesCount } from './plan.ts'
import { drawVideo, type VideoAction } from './video-plan.ts'

/** Bytes of an answer, and how many come in a millisecond. */
const leavesAfterMax = 1_500
const leavesBytesOfMs = 10
/** More than any answer has. */
const maxTokens = 1_100
/** An operator or a client that had no answer: most try again at once, some after the lease of an edge that died. */
const retryWithinMs = 2_000
const retryLateWithinMs = 20_000
const lateShare = 0.3
/** Those come together. */
const lateEveryMs = 1_000
/** Between two actions of a burst. */
const burstEveryMs = 2

/** How fast clients follow each other. */
export interface Pace {
  /** On average between two actions. */
  readonly everyMs: number
  /** So many come at once, on average. */
  readonly burst: number
}

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
  newKey: random() < 0.12 ? Math.sqrt(random()) : null,
  maxTokens: random() < 0.1 ? Math.ceil(number / 2) : maxTokens,
  stream: random() < 0.5,
  router: random() < 0.3,
  attempts: [drawWeighted(random, modes), drawWeighted(random, modes)],
  ...drawLeave(random),
  isRepeatable: random() < 0.15,
})

/** From a third of what a workspace asks for up to three times as much. */
const drawRequestsPerMinute = (random: Random, everyMs: number): number =>
  Math.ceil((60_000 / everyMs / workspacesCount) * 3 ** (2 * random() - 1))

const administer = (random: Random, number: number, everyMs: number): AdminAction => {
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
      8,
    ],
    [
      () => ({
        type: 'limits',
        isRepeated,
        workspace,
        requestsPerMinute: random() < 0.5 ? null : drawRequestsPerMinute(random, everyMs),
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

const drawRetryMs = (random: Random, atMs: number): number =>
  random() < lateShare
    ? Math.ceil((atMs + random() * retryLateWithinMs) / lateEveryMs) * lateEveryMs
    : atMs + random() * retryWithinMs

const drawGap = (random: Random, { everyMs, burst }: Pace): number =>
  random() * 2 * (random() < 1 / burst ? everyMs * burst : burstEveryMs)

export const drawActions = (random: Random, count: number, pace: Pace): readonly At<Action>[] => {
  const actions: At<Action>[] = []
  let atMs = 0
  for (let number = 1; actions.length < count; number += 1) {
    atMs += drawGap(random, pace)
    if (random() < 0.09) {
      const what = administer(random, number, pace.everyMs)
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
      if (mayRetry(what) && random() < 0.4) actions.push({ atMs: drawRetryMs(random, atMs), what })
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
        actions.push({ atMs: drawRetryMs(random, atMs), what: { ...staying, leavesAfter: null } })
  }
  return actions.toSorted((one, other) => one.atMs - other.atMs)
}
