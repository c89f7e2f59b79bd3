import type { RequestFailed } from '../../events/types.ts'

/** What runs once under a key: a request that is charged as it ends, or a video task. */
export type KeyedOperation =
  | {
      readonly type: 'request'
      readonly keyId: string
      readonly surface: RequestFailed['surface']
      readonly stream: boolean
    }
  | { readonly type: 'task'; readonly taskId: string }

/** A request that runs under the key, or ran when its process ended. */
export interface ClaimedKey {
  readonly state: 'claimed'
  /** The request that may be charged. */
  readonly requestId: string
  /** The request that holds the claim: another one where that sees to the end of what the first left behind. */
  readonly holder: string
  /** Of endpoint and body. */
  readonly digest: string
  readonly work: KeyedOperation
  /** Milliseconds since the epoch, by the clock of whoever claimed. */
  readonly claimedMs: number
  /** From then on whoever repeats the request may take the claim over. */
  readonly leaseUntilMs: number
}

/** A request whose answer is kept. */
export interface AnsweredKey {
  readonly state: 'answered'
  readonly requestId: string
  readonly digest: string
  readonly status: number
  /** As they were sent, the content type with them. */
  readonly headers: Readonly<Record<string, string>>
}

/** A request that was answered, and whose answer is not kept. */
export interface UnstoredKey {
  readonly state: 'unkept'
  readonly requestId: string
  readonly digest: string
  readonly why: 'stream' | 'size'
}

/** What stands under an idempotency key. */
export type KeyRecord = ClaimedKey | AnsweredKey | UnstoredKey

/** A request that names a key. */
export interface KeyRequest {
  readonly requestId: string
  readonly digest: string
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}
