type Headers = Readonly<Record<string, string>>

export interface UnsignedRequest {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly body?: string | Uint8Array
  readonly signal: AbortSignal
}

/** Proves to an upstream who calls, with a credential that is issued for a time or signs each request. */
export interface Authenticator {
  /** Headers to add. Throws HttpFault `authentication` where there is no credential, `aborted` where the request is. */
  authorize(request: UnsignedRequest): Promise<Headers>
  /** The upstream refused the credential: the next request gets a new one. */
  discard(): void
  /** What it has lately shown to upstreams, or signed with: removed from all that they answer. */
  secrets(): readonly string[]
}
