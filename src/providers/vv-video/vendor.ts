import type { TaskPayload, VideoKind } from '../../domain/video/request.ts'
import type { VideoVerdict } from '../../domain/video/settle.ts'

export interface VideoVendorConfig {
  readonly name: string
  /** Everything before `/videos/text2video`. */
  readonly baseUrl: string
  readonly credential: VendorCredential
  /** What one process may ask; all processes of a kind together must not be given more than the vendor's limit. */
  readonly callsPerSecond: number
}

export type VendorCredential =
  | { readonly type: 'key'; readonly apiKey: string }
  | { readonly type: 'pair'; readonly accessKey: string; readonly secretKey: string }

export type SubmittedTask =
  | { readonly type: 'accepted'; readonly vendorTaskId: string }
  /** The request is at fault: a retry would end the same. */
  | { readonly type: 'refused'; readonly message: string; readonly code: number | null }
  | VendorFailure

export type VendorStatus =
  | { readonly type: 'open'; readonly vendorTaskId: string; readonly status: 'SUBMITTED' | 'IN_PROGRESS' | null }
  | { readonly type: 'ended'; readonly verdict: VideoVerdict & { readonly vendorTaskId: string } }
  | { readonly type: 'not_found' }
  | VendorFailure

/** `busy`: nothing was done, ask later; scope `account` applies to every task. `unknown`: it may have been done. */
export type VendorFailure =
  | {
      readonly type: 'busy'
      readonly scope: 'account' | 'task'
      readonly retryAfterMs: number | null
      readonly reason: string
    }
  | { readonly type: 'unknown'; readonly reason: string }

/** One vendor account. Nothing here throws for the content of a vendor's answer. */
export interface VideoVendor {
  /** Our task id is sent as the vendor's external id, which the vendor keeps unique. */
  submit(payload: TaskPayload, signal: AbortSignal): Promise<SubmittedTask>
  query(kind: VideoKind, vendorTaskId: string, signal: AbortSignal): Promise<VendorStatus>
  find(kind: VideoKind, taskId: string, signal: AbortSignal): Promise<VendorStatus>
}
