import type { TaskPayload } from '../../domain/video/request.ts'
import type { Task } from '../../domain/video/task.ts'
import type { Submitted, Told, VendorTrouble, VideoVendor } from '../../providers/vv-video/vendor.ts'
import type { Logger } from '../role.ts'
import type { CallKind, Turn } from './call-gate.ts'
import type { VendorAccount } from './vendor-account.ts'

export interface VendorLineParts {
  readonly accountOf: (provider: string) => VendorAccount
  readonly logger: Logger
  /** Gives up every call. */
  readonly signal: AbortSignal
}

/** Who is called, and about what. */
export type Called = Pick<Task, 'taskId' | 'provider' | 'kind'>

/** One task's calls to its vendor, each in the turn that its account's cap gives it; null where the turn was given up for. */
export class VendorLine {
  readonly #parts: VendorLineParts
  #turn: Turn | null = null

  constructor(parts: VendorLineParts) {
    this.#parts = parts
  }

  /** Gives up a turn that is waited for. */
  hangUp(): void {
    this.#turn?.cancel()
  }

  /** `read` fetches the request once the turn has come: null when it is lost. Then `isWanted` is asked for the last time. */
  submit(
    called: Called,
    read: () => Promise<TaskPayload | null>,
    isWanted: () => boolean,
  ): Promise<Submitted | 'lost' | null> {
    return this.#inTurn('submit', called, async (account) => {
      const payload = await read()
      if (payload === null) return 'lost'
      if (!isWanted()) return null
      const answer = await this.#ask(called, () => account.vendor.submit(payload, this.#parts.signal))
      account.heardSubmitted(answer)
      return answer
    })
  }

  find(called: Called): Promise<Told | null> {
    return this.#look('submit', called, (vendor, signal) => vendor.find(called.kind, called.taskId, signal))
  }

  query(called: Called, vendorTaskId: string): Promise<Told | null> {
    return this.#look('poll', called, (vendor, signal) => vendor.query(called.kind, vendorTaskId, signal))
  }

  #look(
    kind: CallKind,
    called: Called,
    look: (vendor: VideoVendor, signal: AbortSignal) => Promise<Told>,
  ): Promise<Told | null> {
    return this.#inTurn(kind, called, async (account) => {
      const told = await this.#ask(called, () => look(account.vendor, this.#parts.signal))
      account.heard(told)
      return told
    })
  }

  async #inTurn<Answer>(
    kind: CallKind,
    { provider }: Called,
    call: (account: VendorAccount) => Promise<Answer>,
  ): Promise<Answer | null> {
    const account = this.#parts.accountOf(provider)
    const turn = account.gate.ask(kind)
    this.#turn = turn
    const granted = await turn.granted
    this.#turn = null
    if (!granted) return null
    try {
      return await call(account)
    } finally {
      turn.leave()
    }
  }

  /** A call that breaks down may have arrived. */
  async #ask<Answer>({ taskId }: Called, call: () => Promise<Answer>): Promise<Answer | Unknown> {
    try {
      return await call()
    } catch (fault) {
      this.#parts.logger.error({ fault, taskId }, 'a call to the video vendor broke down')
      return { type: 'unknown', reason: 'fault' }
    }
  }
}

type Unknown = Extract<VendorTrouble, { type: 'unknown' }>
