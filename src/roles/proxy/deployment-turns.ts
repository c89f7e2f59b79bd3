import {
  chooseDeployment,
  type DeploymentEvent,
  type DeploymentFailure,
  orderByAffinity,
} from '../../domain/routing/deployments.ts'
import { type Candidate, modelNotFound } from '../../domain/routing/plan.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { Deployment, Provider } from '../../providers/dialect/provider.ts'
import { findMaker, makerOf } from '../../providers/dialect/provider-mark.ts'
import type { RoutedRequest } from '../dispatch.ts'
import type { Deployments } from './deployments.ts'
import { type CandidateFailure, passedOver } from './failure.ts'

const failureKind = ({ reason, retryAfterSeconds, isInferred }: CandidateFailure): DeploymentFailure => {
  if (retryAfterSeconds !== undefined) return 'limited'
  return reason === 'account' && isInferred !== true ? 'account' : 'failed'
}

/** The verdict of one call on its deployment; the request's own faults are none. */
const eventOfFailure = (failure: CandidateFailure, workspaceId: string): DeploymentEvent => {
  if (failure.uncallable !== undefined || failure.reason === 'aborted') return { type: 'abandoned' }
  if (failure.refusal !== undefined) return { type: 'answered' }
  const { retryAfterSeconds = 0, repeatAfterMs = 0 } = failure
  const askedMs = Math.max(retryAfterSeconds * 1_000, repeatAfterMs)
  return { type: 'failed', reason: failureKind(failure), retryAfterMs: askedMs > 0 ? askedMs : null, workspaceId }
}

const rateLimited = (waitMs: number): CandidateFailure => ({
  status: null,
  reason: 'rate_limited',
  retryAfterSeconds: Math.ceil(waitMs / 1_000),
  repeatAfterMs: waitMs,
})

const keeperGone = (deployment: string): CandidateFailure =>
  passedOver(
    new GatewayError(
      'invalid_value',
      `The previous response is stored at the deployment \`${deployment}\`, which is not configured any more: send the whole input instead.`,
      { param: 'previous_response_id' },
    ),
  )

/** A provider as it is called, and the deployment that this is; null for a provider that has none. */
export interface CalledDeployment {
  readonly provider: Provider
  readonly candidate: Candidate
  readonly deployment: Deployment | null
}

const nameIn = (model: string): string => model.slice(model.indexOf('/') + 1)

const candidateAt = (candidate: Candidate, { models }: Deployment): Candidate => {
  const upstreamModel = models?.[nameIn(candidate.model)]
  return upstreamModel === undefined ? candidate : { ...candidate, upstreamModel }
}

const servingDeployments = (deployments: readonly Deployment[], { model }: Candidate): readonly Deployment[] =>
  deployments.filter(({ models }) => models === undefined || Object.hasOwn(models, nameIn(model)))

const makersOf = (deployments: readonly Deployment[], candidate: Candidate): ReadonlyMap<string, Deployment> =>
  new Map(deployments.map((each) => [makerOf({ ...candidateAt(candidate, each), provider: each.provider }), each]))

type RequestState = Pick<RoutedRequest, 'workspaceId' | 'body'>

/** A request's calls of one candidate: each deployment once, those first that have its state, then by affinity. */
export class DeploymentTurns {
  readonly #all: Deployments
  readonly #provider: Provider
  readonly #candidate: Candidate
  readonly #workspaceId: string
  readonly #untried: Deployment[]
  readonly #failure: CandidateFailure | null
  #isFirst = true

  constructor(all: Deployments, provider: Provider, candidate: Candidate, request: RequestState) {
    this.#all = all
    this.#provider = provider
    this.#candidate = candidate
    this.#workspaceId = request.workspaceId
    const { deployments } = provider
    if (deployments === undefined) {
      this.#untried = []
      this.#failure = null
      return
    }
    const serving = servingDeployments(deployments, candidate)
    const keeper = candidate.deployment
    const allowed = keeper === undefined ? serving : deployments.filter(({ name }) => name === keeper)
    const ordered = orderByAffinity(allowed, `${request.workspaceId} ${candidate.model}`)
    // To read a large body again takes many steps.
    const maker = ordered.length > 1 ? findMaker(makersOf(ordered, candidate), request.body) : null
    this.#untried = [...ordered.filter((each) => each === maker), ...ordered.filter((each) => each !== maker)]
    this.#failure = failureOf(provider, candidate, allowed)
  }

  /** The first call, or why there is none; further ones while there are, then null. */
  next(): CalledDeployment | CandidateFailure | null {
    const isFirst = this.#isFirst
    this.#isFirst = false
    if (this.#failure !== null) return isFirst ? this.#failure : null
    if (this.#provider.deployments === undefined)
      return isFirst ? { provider: this.#provider, candidate: this.#candidate, deployment: null } : null
    return this.#chooseNext(isFirst)
  }

  ended({ deployment }: CalledDeployment, failure: CandidateFailure | null): void {
    if (deployment === null) return
    const event: DeploymentEvent = failure === null ? { type: 'answered' } : eventOfFailure(failure, this.#workspaceId)
    this.#all.note(deployment, this.#candidate.model, event)
  }

  #chooseNext(isFirst: boolean): CalledDeployment | CandidateFailure | null {
    const { model } = this.#candidate
    const choice = chooseDeployment(
      this.#untried.map((each) => this.#all.statusOf(each, model, this.#workspaceId)),
      this.#all.nowMs,
    )
    if (choice.type === 'limited') for (const each of this.#untried) this.#all.noteRefused(each, this.#workspaceId)
    if (choice.type !== 'chosen') return isFirst && choice.type === 'limited' ? rateLimited(choice.waitMs) : null
    const { deployment } = choice
    this.#untried.splice(this.#untried.indexOf(deployment), 1)
    this.#all.noteCalled(deployment, model, this.#workspaceId)
    return { provider: deployment.provider, candidate: candidateAt(this.#candidate, deployment), deployment }
  }
}

const failureOf = (
  { deployments }: Provider,
  { model, deployment }: Candidate,
  allowed: readonly Deployment[],
): CandidateFailure | null => {
  if (deployments === undefined || allowed.length > 0) return null
  return deployment === undefined ? passedOver(modelNotFound(model)) : keeperGone(deployment)
}
