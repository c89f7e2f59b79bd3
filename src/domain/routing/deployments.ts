/** Why a call to a deployment failed before its first byte. */
export type DeploymentFailure = 'failed' | 'account' | 'limited'

export interface DeploymentHealth {
  /** Since the last answer. */
  readonly failuresInRow: number
  readonly ejected: {
    readonly reason: DeploymentFailure
    /** By the clock of `nowMs` below, which should not jump; from then on one call at a time probes it. */
    readonly untilMs: number
    /** In row, this one included. */
    readonly times: number
    readonly isProbed: boolean
    /** It is limited for that one alone; absent: for all. One request may be larger than a limit a minute, and is free. */
    readonly workspaceId?: string
  } | null
}

/** For a model, in one process. */
export interface Ejection {
  readonly provider: string
  readonly deployment: string
  readonly model: string
  readonly reason: DeploymentFailure
  /** From then on one call at a time probes it. */
  readonly until: Date
}

/** `abandoned`: it ended without a verdict, such as when the client left. */
export type DeploymentEvent =
  | { readonly type: 'called' | 'answered' | 'abandoned' }
  | {
      readonly type: 'failed'
      readonly reason: DeploymentFailure
      readonly retryAfterMs: number | null
      readonly workspaceId?: string
    }

export const healthy: DeploymentHealth = { failuresInRow: 0, ejected: null }

/** A single failure is normal; a rate limit and a refused key count at once. */
const failuresInRowMax = 3

const ejectionMs: { readonly [R in DeploymentFailure]: { readonly first: number; readonly most: number } } = {
  failed: { first: 5_000, most: 300_000 },
  account: { first: 60_000, most: 600_000 },
  limited: { first: 5_000, most: 60_000 },
}

const isOfAll = (ejected: DeploymentHealth['ejected']): boolean => ejected !== null && ejected.workspaceId === undefined

const isTolerated = ({ failuresInRow, ejected }: DeploymentHealth, reason: DeploymentFailure): boolean =>
  reason === 'failed' && !isOfAll(ejected) && failuresInRow + 1 < failuresInRowMax

type Failed = Extract<DeploymentEvent, { type: 'failed' }>

/** Once another workspace's request was answered so too, the limit is that of all; what is ejected for all remains so. */
const limitedAlone = (
  ejected: DeploymentHealth['ejected'],
  { reason, workspaceId }: Failed,
  nowMs: number,
): { readonly workspaceId?: string } => {
  if (reason !== 'limited' || workspaceId === undefined) return {}
  const isInForce = ejected !== null && ejected.untilMs > nowMs
  return isInForce && ejected.workspaceId !== workspaceId ? {} : { workspaceId }
}

/** What failed for all is no longer left alone, nor refused to them, for a limit that one workspace's call under way met. */
const isBesideFailure = ({ ejected }: DeploymentHealth, { reason, workspaceId }: Failed, nowMs: number): boolean =>
  reason === 'limited' &&
  workspaceId !== undefined &&
  isOfAll(ejected) &&
  ejected?.reason !== 'limited' &&
  ejected!.untilMs > nowMs

const eject = (health: DeploymentHealth, event: Failed, nowMs: number): DeploymentHealth => {
  if (isBesideFailure(health, event, nowMs)) return health
  const { reason, retryAfterMs } = event
  const failuresInRow = health.failuresInRow + 1
  if (isTolerated(health, reason))
    return { failuresInRow, ejected: health.ejected && { ...health.ejected, isProbed: false } }
  const { first, most } = ejectionMs[reason]
  const ejected = reason === 'limited' || isOfAll(health.ejected) ? health.ejected : null
  // Calls that were under way when it was ejected are no further failure.
  const times = ejected === null ? 1 : ejected.times + (ejected.untilMs <= nowMs ? 1 : 0)
  const untilMs = nowMs + (retryAfterMs ?? Math.min(most, first * 2 ** (times - 1)))
  return {
    failuresInRow,
    ejected: {
      ...{ reason, untilMs: Math.max(untilMs, ejected?.untilMs ?? 0), times, isProbed: false },
      ...limitedAlone(ejected, event, nowMs),
    },
  }
}

export const nextHealth = (health: DeploymentHealth, event: DeploymentEvent, nowMs: number): DeploymentHealth => {
  const { ejected } = health
  switch (event.type) {
    case 'called':
      return ejected === null || ejected.untilMs > nowMs
        ? health
        : { ...health, ejected: { ...ejected, isProbed: true } }
    case 'answered':
      if (ejected === null || ejected.untilMs <= nowMs) return healthy
      return isOfAll(ejected) ? health : { failuresInRow: 0, ejected }
    case 'abandoned':
      return ejected === null ? health : { ...health, ejected: { ...ejected, isProbed: false } }
    case 'failed':
      return eject(health, event, nowMs)
  }
}

export const isAvailable = ({ ejected }: DeploymentHealth, nowMs: number): boolean =>
  ejected === null || (ejected.untilMs <= nowMs && !ejected.isProbed)

/** FNV-1a with the finish of MurmurHash3, evenly over 32 bits. */
const hash32 = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** From above 0 to below 1. */
const fractionOf = (text: string): number => (hash32(text) + 0.5) / 2 ** 32

interface Weighted {
  readonly name: string
  readonly weight: number
}

/**
 * Weighted rendezvous hashing: what has the same affinity has the same order for ever, the first places are divided by
 * weight, and where one is gone its own alone move, to the next in their order.
 */
export const orderByAffinity = <D extends Weighted>(deployments: readonly D[], affinity: string): readonly D[] =>
  deployments
    .map((deployment) => ({
      deployment,
      score: -Math.log(fractionOf(`${deployment.name} ${affinity}`)) / deployment.weight,
    }))
    .sort((one, other) => one.score - other.score)
    .map(({ deployment }) => deployment)

interface DeploymentStatus<D> {
  readonly deployment: D
  readonly health: DeploymentHealth
  /** Milliseconds until its limits a minute allow a call. */
  readonly waitMs: number
}

type DeploymentChoice<D> =
  | { readonly type: 'chosen'; readonly deployment: D }
  /** Each is limited: by what it answered, or by its own limits here. */
  | { readonly type: 'limited'; readonly waitMs: number }
  | { readonly type: 'none' }

const untilMs = ({ health }: DeploymentStatus<unknown>): number => health.ejected?.untilMs ?? 0

const limitedForMs = ({ health: { ejected }, waitMs }: DeploymentStatus<unknown>, nowMs: number): number =>
  ejected?.reason === 'limited' ? Math.max(waitMs, ejected.untilMs - nowMs) : waitMs

/**
 * The first in order that can be called. Where none can, the one that failed and returns first is called all the same:
 * what is wrong may be nothing of its own.
 */
export const chooseDeployment = <D>(statuses: readonly DeploymentStatus<D>[], nowMs: number): DeploymentChoice<D> => {
  const free = statuses.filter(({ waitMs }) => waitMs <= 0)
  const [first] = free.filter(({ health }) => isAvailable(health, nowMs))
  if (first !== undefined) return { type: 'chosen', deployment: first.deployment }
  const [soonest] = free
    .filter(({ health }) => health.ejected?.reason !== 'limited')
    .sort((one, other) => untilMs(one) - untilMs(other))
  if (soonest !== undefined) return { type: 'chosen', deployment: soonest.deployment }
  if (statuses.length === 0) return { type: 'none' }
  return { type: 'limited', waitMs: Math.max(1, Math.min(...statuses.map((each) => limitedForMs(each, nowMs)))) }
}
