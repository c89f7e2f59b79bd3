import type { RequestFailed } from '../../events/types.ts'

export type KeyedOperation =
  | {
      readonly type: 'request'
      readonly keyId: string
      readonly surface: RequestFailed['surface']
      readonly stream: boolean
    }
  | { readonly type: 'task'; readonly taskId: string }

export interface ClaimedKey {
  readonly state: 'claimed'
  readonly requestId: string
  /** The request that holds the claim: another one where it resolves what the first abandoned. */
  readonly holder: string
  /** Of endpoint and body. */
  readonly digest: string
  readonly work: KeyedOperation
  /** Milliseconds since the epoch, by the clock of the process that claimed. */
  readonly claimedMs: number
  /** From then on a request that repeats the key may take the claim over. */
  readonly leaseUntilMs: number
}

export interface AnsweredKey {
  readonly state: 'answered'
  readonly requestId: string
  /** Of the caller who was answered; absent for a task, and in records of earlier releases. */
  readonly keyId?: string
  readonly digest: string
  readonly status: number
  /** As they were sent, the content type included. */
  readonly headers: Readonly<Record<string, string>>
}

export interface UnstoredKey {
  readonly state: 'unkept'
  readonly requestId: string
  readonly digest: string
  readonly why: 'stream' | 'size'
}

export type KeyRecord = ClaimedKey | AnsweredKey | UnstoredKey

export interface KeyRequest {
  readonly requestId: string
  readonly digest: string
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}
