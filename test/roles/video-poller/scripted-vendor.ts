import type { TaskPayload, VideoKind } from '../../../src/domain/video/request.ts'
import type { VideoVerdict } from '../../../src/domain/video/settle.ts'
import type { SubmittedTask, VendorStatus } from '../../../src/providers/vv-video/vendor.ts'
import type { VideoVendorAccount } from '../../../src/roles/video-poller/vendor-account.ts'

export type Ended = VideoVerdict & { readonly vendorTaskId: string }

interface VendorTask {
  readonly vendorTaskId: string
  readonly externalId: string
  polls: number
}

export const success = (vendorTaskId: string, deduction: string | null = '3'): Ended => ({
  outcome: 'SUCCESS',
  vendorTaskId,
  deduction,
  failReason: null,
  vendorCode: null,
  results: [{ id: 'v1', url: 'https://cdn.example/v1.mp4', duration: '5.1' }],
})

export const duplicate: SubmittedTask = { type: 'refused', message: 'this id was used before', code: 1201 }
export const busy: SubmittedTask & VendorStatus = { type: 'busy', scope: 'account', retryAfterMs: null, reason: '1303' }
export const busyWithThis: SubmittedTask & VendorStatus = {
  type: 'busy',
  scope: 'task',
  retryAfterMs: null,
  reason: 'http_403',
}
export const unknown: SubmittedTask & VendorStatus = { type: 'unknown', reason: 'timeout' }

/** A vendor that keeps external ids unique, and answers as its script says. */
export class ScriptedVendor implements VideoVendorAccount {
  readonly callsPerSecond: number
  /** Every task that was made, by our id. */
  readonly tasks = new Map<string, VendorTask>()
  readonly calls: string[] = []
  /** How many tasks were made: more than one for the same id would be a double bill. */
  made = 0
  /** Submits of a task that stood already. */
  duplicates = 0
  /** Told before it is made: `null` makes it. `lost` makes it and loses the answer. */
  onSubmit: (
    payload: TaskPayload,
    call: number,
  ) => SubmittedTask | 'lost' | null | Promise<SubmittedTask | 'lost' | null> = () => null
  onFind: (taskId: string, call: number) => VendorStatus | null | Promise<VendorStatus | null> = () => null
  /** What is told of a task that stands, at its n-th poll. */
  onQuery: (vendorTaskId: string, poll: number) => VendorStatus | Promise<VendorStatus> = (vendorTaskId, poll) =>
    poll < 3
      ? { type: 'open', vendorTaskId, status: poll === 1 ? 'SUBMITTED' : 'IN_PROGRESS' }
      : { type: 'ended', verdict: success(vendorTaskId) }
  readonly #counts = { submit: 0, find: 0 }

  constructor(callsPerSecond = 100_000) {
    this.callsPerSecond = callsPerSecond
  }

  async submit(payload: TaskPayload): Promise<SubmittedTask> {
    this.calls.push('submit')
    this.#counts.submit += 1
    const answer = await this.onSubmit(payload, this.#counts.submit)
    if (answer !== null && answer !== 'lost') return answer
    if (this.tasks.has(payload.taskId)) {
      this.duplicates += 1
      return duplicate
    }
    const made = this.make(payload.taskId)
    return answer === 'lost' ? unknown : { type: 'accepted', vendorTaskId: made }
  }

  async query(_kind: VideoKind, vendorTaskId: string): Promise<VendorStatus> {
    this.calls.push('query')
    const task = [...this.tasks.values()].find((each) => each.vendorTaskId === vendorTaskId)
    if (task === undefined) return { type: 'not_found' }
    task.polls += 1
    return this.onQuery(vendorTaskId, task.polls)
  }

  async find(_kind: VideoKind, taskId: string): Promise<VendorStatus> {
    this.calls.push('find')
    this.#counts.find += 1
    const scripted = await this.onFind(taskId, this.#counts.find)
    if (scripted !== null) return scripted
    const task = this.tasks.get(taskId)
    return task === undefined
      ? { type: 'not_found' }
      : { type: 'open', vendorTaskId: task.vendorTaskId, status: 'SUBMITTED' }
  }

  make(externalId: string): string {
    this.made += 1
    const vendorTaskId = `vendor-${this.made}`
    this.tasks.set(externalId, { vendorTaskId, externalId, polls: 0 })
    return vendorTaskId
  }

  count(call: string): number {
    return this.calls.filter((each) => each === call).length
  }
}
