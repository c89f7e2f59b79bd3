import type { SubmittedTask, VendorFailure, VendorStatus, VideoVendor } from '../../providers/vv-video/vendor.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Observer, UpstreamError } from '../../runtime/observer.ts'
import type { PollerBounds } from './bounds.ts'
import { CallGate } from './call-gate.ts'
import { pollerLimits } from './limits.ts'
import { type PaceRandom, retryDelayMs } from './pace.ts'

export type VideoVendorAccount = VideoVendor & {
  /** Of this process, submits and polls together. */
  readonly callsPerSecond: number
}

const isVendorFailure = (answer: SubmittedTask | VendorStatus): answer is VendorFailure =>
  answer.type === 'busy' || answer.type === 'unknown'

const errorOf = (answer: SubmittedTask | VendorStatus): UpstreamError | null => {
  if (isVendorFailure(answer)) return answer.type
  return answer.type === 'refused' ? 'refused' : null
}

const unknownAccount = (provider: string): VideoVendorAccount => {
  const busy = async (): Promise<VendorFailure> => ({
    type: 'busy',
    scope: 'account',
    retryAfterMs: pollerLimits.taskRetryMaxMs,
    reason: `no account is configured for ${provider}`,
  })
  return { callsPerSecond: pollerLimits.openTasksMax, submit: busy, query: busy, find: busy }
}

interface VendorAccountParts {
  readonly bounds: PollerBounds
  readonly logger: Logger
  readonly observer: Observer
  readonly random: PaceRandom
  readonly steadyMs: () => number
}

export class VendorAccount {
  readonly vendor: VideoVendor
  readonly gate: CallGate
  readonly #provider: string
  readonly #parts: VendorAccountParts
  /** Submits in a row that the vendor had no room for, those that were under way together counted once. */
  #busy = 0
  #loggedMs = Number.NEGATIVE_INFINITY

  constructor(provider: string, account: VideoVendorAccount | undefined, parts: VendorAccountParts) {
    const vendor = account ?? unknownAccount(provider)
    const { bounds, steadyMs } = parts
    this.vendor = vendor
    this.gate = new CallGate({
      callsPerSecond: vendor.callsPerSecond,
      submitsMax: bounds.vendorSubmitsMax,
      pollsMax: bounds.vendorCallsMax,
      steadyMs,
    })
    this.#provider = provider
    this.#parts = parts
  }

  /**
   * A vendor without room, or without our money, has none for the next task either: thousands of tasks need not each
   * send a request to learn it. A refusal of one request alone delays no other.
   */
  onSubmitted(answer: SubmittedTask): void {
    this.onCall(answer)
    if (answer.type === 'busy' && answer.scope === 'account') this.#holdSubmits(answer.retryAfterMs)
    else if (!isVendorFailure(answer)) {
      this.#busy = 0
      this.gate.freeSubmits()
    }
  }

  /** Thousands of tasks meet the same failure: the warning is throttled. */
  onCall(answer: SubmittedTask | VendorStatus): void {
    this.#observe(errorOf(answer))
    if (!isVendorFailure(answer)) return
    const { logger, steadyMs } = this.#parts
    if (steadyMs() - this.#loggedMs < pollerLimits.vendorWarningRepeatMs) return
    this.#loggedMs = steadyMs()
    const { type, reason } = answer
    logger.log('video.vendor_failed', { provider: this.#provider, answer: type, reason })
  }

  #observe(error: UpstreamError | null): void {
    const { observer } = this.#parts
    observer.upstreamCalled(this.#provider, 'video')
    if (error !== null) observer.upstreamFailed(this.#provider, 'video', error)
  }

  #holdSubmits(retryAfterMs: number | null): void {
    if (this.gate.holdsSubmits) return
    const { bounds, random } = this.#parts
    this.#busy += 1
    this.gate.holdSubmits(retryDelayMs(this.#busy, retryAfterMs, bounds, random))
  }
}
