import type { TaskPayload, VideoKind } from '../../domain/video/request.ts'
import type { VideoVerdict } from '../../domain/video/settle.ts'

/** A video vendor's account as it is configured. The keys stay in the roles that call it. */
export interface VideoVendorConfig {
  readonly name: string
  /** Everything before `/videos/text2video`. */
  readonly baseUrl: string
  readonly credential: VendorCredential
  /** Of all processes of a kind together no more than each is given: what one process asks in a second. */
  readonly callsPerSecond: number
}

export type VendorCredential =
  | { readonly type: 'key'; readonly apiKey: string }
  | { readonly type: 'pair'; readonly accessKey: string; readonly secretKey: string }

/** How a submit ended. */
export type SubmittedTask =
  | { readonly type: 'accepted'; readonly vendorTaskId: string }
  /** The request is at fault: asking again would end the same. */
  | { readonly type: 'refused'; readonly message: string; readonly code: number | null }
  | VendorFailure

/** What the vendor says of a task. */
export type VendorStatus =
  | { readonly type: 'open'; readonly vendorTaskId: string; readonly status: 'SUBMITTED' | 'IN_PROGRESS' | null }
  | { readonly type: 'ended'; readonly verdict: VideoVerdict & { readonly vendorTaskId: string } }
  | { readonly type: 'not_found' }
  | VendorFailure

/**
 * `busy`: nothing was done, ask later; of scope `account`, so it is for every other task, of scope `task`, that tells nothing of others.
 * `unknown`: it may have been done.
 */
export type VendorFailure =
  | {
      readonly type: 'busy'
      readonly scope: 'account' | 'task'
      readonly retryAfterMs: number | null
      readonly reason: string
    }
  | { readonly type: 'unknown'; readonly reason: string }

/** One vendor account. Nothing here throws for what the vendor says or leaves unsaid. */
export interface VideoVendor {
  /** Our task id goes as the vendor's external id, which the vendor keeps unique. */
  submit(payload: TaskPayload, signal: AbortSignal): Promise<SubmittedTask>
  /** By the vendor's id. */
  query(kind: VideoKind, vendorTaskId: string, signal: AbortSignal): Promise<VendorStatus>
  /** By our task id. */
  find(kind: VideoKind, taskId: string, signal: AbortSignal): Promise<VendorStatus>
}
