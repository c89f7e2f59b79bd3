import { minuteMs } from '../../domain/instant.ts'
import { burstCapacity, decideLease, emptyMeter, type Meter, settleMeter } from '../../domain/rates/meter.ts'
import {
  type chooseDeployment,
  type DeploymentEvent,
  type DeploymentHealth,
  type Ejection,
  healthy,
  nextHealth,
} from '../../domain/routing/deployments.ts'
import type { Usage } from '../../events/types.ts'
import type { Deployment, Providers } from '../../providers/dialect/provider.ts'
import type { Clock } from '../../runtime/clock.ts'
import { FairRate } from '../../runtime/fair-rate.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Observer } from '../../runtime/observer.ts'
import { proxyLimits } from './limits.ts'

const limitUnits = ['requests', 'tokens'] as const
type LimitUnit = (typeof limitUnits)[number]

/** What is admitted at an even pace, and what each workspace had of it lately. */
interface UsedLimit {
  readonly perMinute: number
  readonly shares: FairRate
  meter: Meter
}

interface DeploymentsParts {
  /** How many processes have the limits together, and an equal part of them each; 1 by default. */
  readonly sharers?: number | undefined
  readonly clock: Clock
  /** Never jumps; default: the process's own. */
  readonly steadyClock?: Clock
  readonly logger: Logger
  readonly observer: Observer
}

/** Of what a limit admits at once, the last is for those at the pace of their share: a busy one takes all that comes. */
const keptDivisor = 16

const keptOf = (burst: number): number => (burst < 2 ? 0 : Math.ceil(burst / keptDivisor))

const limitOf = ({ requestsPerMinute, tokensPerMinute }: Deployment, unit: LimitUnit): number | undefined =>
  unit === 'requests' ? requestsPerMinute : tokensPerMinute

const idOf = ({ name, provider }: Deployment): string => `${provider.name}/${name}`

/** The shorter, the sooner one that was refused has its share; it must hold enough units to be divided. */
const shareWindowMs = (unit: LimitUnit, perMinute: number): number => {
  const { sharedRequestsMin, requestShareMsMin, tokenShareMs } = proxyLimits
  if (unit === 'tokens') return tokenShareMs
  return Math.min(minuteMs, Math.max(requestShareMsMin, (sharedRequestsMin * minuteMs) / perMinute))
}

const limitIdOf = (deployment: Deployment, unit: LimitUnit): string => `${idOf(deployment)} ${unit}`

interface SeenHealth {
  readonly deployment: Deployment
  readonly model: string
  readonly health: DeploymentHealth
}

/** A refusal of a key does not count against the one that replaced it. */
const isOfFormerKey = ({ health, deployment: { provider } }: SeenHealth, deployment: Deployment): boolean =>
  health.ejected?.reason === 'account' && provider !== deployment.provider

/** Health by deployment and model, and the limits of deployments, as this process has seen them. */
export class Deployments {
  readonly #parts: DeploymentsParts & { readonly steadyClock: Clock }
  /** Of those that are not healthy: few, whatever models are asked for. */
  readonly #health = new Map<string, SeenHealth>()
  readonly #used = new Map<string, UsedLimit>()

  constructor(parts: DeploymentsParts) {
    this.#parts = { steadyClock: () => performance.now(), ...parts }
  }

  /** Of all times here: a clock that is set back would keep what is limited or ejected so for as long. */
  get nowMs(): number {
    return this.#parts.steadyClock()
  }

  statusOf(
    deployment: Deployment,
    model: string,
    workspaceId: string,
  ): Parameters<typeof chooseDeployment<Deployment>>[0][number] {
    const waits = limitUnits.map((unit) => this.#waitMs(deployment, unit, workspaceId))
    const health = this.#healthOf(deployment, model)
    const { workspaceId: limited = workspaceId } = health.ejected ?? {}
    const isOthers = limited !== workspaceId
    return { deployment, health: isOthers ? { ...health, ejected: null } : health, waitMs: Math.max(...waits) }
  }

  /** What becomes free of its limits is kept for the workspace, up to its share. */
  noteRefused(deployment: Deployment, workspaceId: string): void {
    for (const unit of limitUnits) this.#used.get(limitIdOf(deployment, unit))?.shares.noteRefused(workspaceId)
  }

  noteCalled(deployment: Deployment, model: string, workspaceId: string): void {
    this.note(deployment, model, { type: 'called' })
    this.#charge(deployment, 'requests', 1, workspaceId)
  }

  note(deployment: Deployment, model: string, event: DeploymentEvent): void {
    const { observer } = this.#parts
    const before = this.#healthOf(deployment, model)
    const after = nextHealth(before, event, this.nowMs)
    if (after.failuresInRow === 0 && after.ejected === null) this.#health.delete(`${idOf(deployment)} ${model}`)
    else this.#health.set(`${idOf(deployment)} ${model}`, { health: after, deployment, model })
    if (event.type === 'answered' || event.type === 'failed')
      observer.deploymentAnswered(deployment.provider.name, deployment.name, event.type)
    this.#logChange(deployment, model, before, after)
  }

  /** Those that wait for their time, of deployments as they are now. */
  ejections(providers: Providers): readonly Ejection[] {
    const { nowMs } = this
    const aheadMs = this.#parts.clock() - nowMs
    return [...this.#health.values()].flatMap((seen) => {
      const { health, deployment, model } = seen
      const { name, provider } = deployment
      const current = providers.get(provider.name)?.deployments?.find((each) => each.name === name)
      const ejected = current === undefined || isOfFormerKey(seen, current) ? null : health.ejected
      if (ejected === null || ejected.untilMs <= nowMs) return []
      const { reason, untilMs } = ejected
      return [{ provider: provider.name, deployment: name, model, reason, until: new Date(untilMs + aheadMs) }]
    })
  }

  /** What an answer took, once it has ended. */
  chargeTokens(deployment: Deployment, { promptTotal, outputTotal }: Usage, workspaceId: string): void {
    this.#charge(deployment, 'tokens', promptTotal + outputTotal, workspaceId)
  }

  #healthOf(deployment: Deployment, model: string): DeploymentHealth {
    const seen = this.#health.get(`${idOf(deployment)} ${model}`)
    return seen === undefined || isOfFormerKey(seen, deployment) ? healthy : seen.health
  }

  #waitMs(deployment: Deployment, unit: LimitUnit, workspaceId: string): number {
    const perMinute = this.#limitOf(deployment, unit)
    if (perMinute === undefined) return 0
    const used = this.#usedOf(deployment, unit, perMinute)
    const kept = keptOf(burstCapacity(perMinute))
    const least = 1 + (used.shares.unitsAhead(workspaceId) < kept ? 0 : kept)
    const decided = decideLease(used.meter, this.nowMs, { held: 0, least, wanted: least }, perMinute)
    const pacedMs = decided.granted === null ? decided.waitMs : 0
    return used.shares.isFree(workspaceId) ? pacedMs : Math.max(pacedMs, used.shares.freeAfterMs)
  }

  #charge(deployment: Deployment, unit: LimitUnit, units: number, workspaceId: string): void {
    const perMinute = this.#limitOf(deployment, unit)
    if (perMinute === undefined) return
    const used = this.#usedOf(deployment, unit, perMinute)
    used.meter = settleMeter(used.meter, this.nowMs, units, perMinute)
    used.shares.add(workspaceId, units)
  }

  #limitOf(deployment: Deployment, unit: LimitUnit): number | undefined {
    const limit = limitOf(deployment, unit)
    return limit === undefined ? undefined : limit / (this.#parts.sharers ?? 1)
  }

  /** Where the configuration has another limit now, its shares begin anew; what was used of it stays. */
  #usedOf(deployment: Deployment, unit: LimitUnit, perMinute: number): UsedLimit {
    const id = limitIdOf(deployment, unit)
    const existing = this.#used.get(id)
    if (existing?.perMinute === perMinute) return existing
    const { steadyClock: steadyMs } = this.#parts
    const windowMs = shareWindowMs(unit, perMinute)
    const unitsMax = Math.ceil((perMinute * windowMs) / minuteMs + burstCapacity(perMinute))
    const shares = new FairRate({ unitsMax, windowMs, waitMs: proxyLimits.limitShareWaitMs, steadyMs })
    const used = { perMinute, shares, meter: existing?.meter ?? emptyMeter(this.nowMs) }
    this.#used.set(id, used)
    return used
  }

  #logChange(deployment: Deployment, model: string, before: DeploymentHealth, after: DeploymentHealth): void {
    const { logger, observer } = this.#parts
    const fields = { provider: deployment.provider.name, deployment: deployment.name, model }
    if (after.ejected !== null && after.ejected.times !== before.ejected?.times) {
      const seconds = Math.ceil((after.ejected.untilMs - this.nowMs) / 1_000)
      observer.deploymentEjected(fields.provider, fields.deployment)
      logger.log('upstream.deployment_ejected', { ...fields, reason: after.ejected.reason, seconds })
    } else if (before.ejected !== null && after.ejected === null) logger.log('upstream.deployment_returned', fields)
  }
}
