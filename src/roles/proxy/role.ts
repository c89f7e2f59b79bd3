import type { Ejection } from '../../domain/routing/deployments.ts'
import { loadTokenizer } from '../../providers/dialect/tokens.ts'
import type { Check } from '../../runtime/health.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { noObserver } from '../../runtime/observer.ts'
import { withTimeout } from '../../runtime/within.ts'
import type { Dispatch } from '../dispatch.ts'
import { manifests } from '../manifests.ts'
import type { WatchedRole } from '../role.ts'
import { defineRole, type RunningRole } from '../role.ts'
import { CallsInFlight } from './calls-in-flight.ts'
import { Deployments } from './deployments.ts'
import { createForward, type ForwardParts } from './forward.ts'
import { proxyLimits } from './limits.ts'

export interface CallSource {
  /** Hands every call to `dispatch` until it is stopped; the stop may wait for the calls that it took. */
  serve(dispatch: Dispatch): ServedCalls
}

export interface ServedCalls extends RunningRole {
  /** From here on waits for no reader: a response that cannot be delivered at once is broken off. */
  giveUp(): void
  readonly check: Check
}

export type ProxyBounds = Pick<
  ForwardParts,
  'firstByteMs' | 'wholeAnswerMs' | 'idleMs' | 'closingUsageMs' | 'closingAckMs' | 'questionMs'
>

interface ProxyParts extends Omit<ForwardParts, 'inFlight' | 'deployments'> {
  readonly calls: CallSource
  /** How long calls in flight may continue when the proxy stops. */
  readonly drainMs?: number
}

/** What does not finish within `drainMs` is ended; its readers have a moment to take the error. */
const drain = async (serving: ServedCalls, inFlight: CallsInFlight, drainMs: number, endMs: number): Promise<void> => {
  // The source may wait for calls that only the timers end.
  const shutDown = setTimeout(() => inFlight.shutDown(), drainMs)
  const giveUp = setTimeout(() => serving.giveUp(), drainMs + sharedLimits.lastAnswerMs)
  const drained = serving.stop().finally(() => inFlight.idle())
  try {
    await withTimeout(drained, drainMs + endMs, () => new Error('calls were still in flight when the proxy stopped'))
  } finally {
    clearTimeout(shutDown)
    clearTimeout(giveUp)
  }
}

interface RunningProxy extends WatchedRole {
  /** What is not called for a while, as this process has seen it. */
  ejections(): readonly Ejection[]
}

const start = async ({ calls, drainMs = sharedLimits.stopMs, ...parts }: ProxyParts): Promise<RunningProxy> => {
  const deployments = new Deployments({ observer: noObserver, ...parts })
  const inFlight = new CallsInFlight()
  const serving = calls.serve(createForward({ ...parts, inFlight, deployments }))
  const endMs = (parts.closingAckMs ?? sharedLimits.closingAckMs) + sharedLimits.lastAnswerMs
  const loading = setTimeout(loadTokenizer, proxyLimits.tokenizerLoadMs).unref()
  const stop = (): Promise<void> => {
    clearTimeout(loading)
    return drain(serving, inFlight, drainMs, endMs)
  }
  return { checks: () => ({ calls: serving.check }), ejections: () => deployments.ejections(parts.providers), stop }
}

export const proxy = defineRole({
  name: 'proxy',
  emits: manifests.proxy,
  start,
})
