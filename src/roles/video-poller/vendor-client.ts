import type { TaskPayload } from '../../domain/video/request.ts'
import type { Task } from '../../domain/video/task.ts'
import type { SubmittedTask, VendorFailure, VendorStatus, VideoVendor } from '../../providers/vv-video/vendor.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { CallKind, CallPermit } from './call-gate.ts'
import type { VendorAccount } from './vendor-account.ts'

export interface VendorClientParts {
  readonly accountOf: (provider: string) => VendorAccount
  readonly logger: Logger
  readonly signal: AbortSignal
}

type VendorResult = Pick<Task, 'taskId' | 'workspaceId' | 'provider' | 'kind'>

/** One task's calls to its vendor, each when its account's cap permits; null where the wait was cancelled. */
export class VendorClient {
  readonly #parts: VendorClientParts
  #permit: CallPermit | null = null

  constructor(parts: VendorClientParts) {
    this.#parts = parts
  }

  cancel(): void {
    this.#permit?.cancel()
  }

  /** `read` runs once the permit is granted: null when the request is lost. Before that counts, `isWanted` is checked again. */
  submit(
    called: VendorResult,
    read: () => Promise<TaskPayload | null>,
    isWanted: () => boolean,
  ): Promise<SubmittedTask | 'lost' | null> {
    return this.#withPermit('submit', called, async (account) => {
      const payload = await read()
      if (!isWanted()) return null
      if (payload === null) return 'lost'
      const answer = await this.#call(called, () => account.vendor.submit(payload, this.#parts.signal))
      account.onSubmitted(answer)
      return answer
    })
  }

  find(called: VendorResult): Promise<VendorStatus | null> {
    return this.#query('submit', called, (vendor, signal) => vendor.find(called.kind, called.taskId, signal))
  }

  query(called: VendorResult, vendorTaskId: string): Promise<VendorStatus | null> {
    return this.#query('poll', called, (vendor, signal) => vendor.query(called.kind, vendorTaskId, signal))
  }

  #query(
    kind: CallKind,
    called: VendorResult,
    look: (vendor: VideoVendor, signal: AbortSignal) => Promise<VendorStatus>,
  ): Promise<VendorStatus | null> {
    return this.#withPermit(kind, called, async (account) => {
      const status = await this.#call(called, () => look(account.vendor, this.#parts.signal))
      account.onCall(status)
      return status
    })
  }

  async #withPermit<Answer>(
    kind: CallKind,
    { provider, workspaceId }: VendorResult,
    call: (account: VendorAccount) => Promise<Answer>,
  ): Promise<Answer | null> {
    const account = this.#parts.accountOf(provider)
    const turn = account.gate.acquire(kind, workspaceId)
    this.#permit = turn
    const granted = await turn.granted
    this.#permit = null
    if (!granted) return null
    try {
      return await call(account)
    } finally {
      turn.leave()
    }
  }

  /** A call that breaks down may have arrived. */
  async #call<Answer>({ taskId }: VendorResult, call: () => Promise<Answer>): Promise<Answer | Unknown> {
    try {
      return await call()
    } catch (fault) {
      this.#parts.logger.log('video.vendor_call_failed', { fault, taskId })
      return { type: 'unknown', reason: 'fault' }
    }
  }
}

type Unknown = Extract<VendorFailure, { type: 'unknown' }>
