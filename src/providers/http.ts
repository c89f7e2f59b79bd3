import { sharedLimits } from '../runtime/limits.ts'
import type { Connection } from './dialect/provider.ts'

/** Redirects are not followed, bodies are not decompressed. */
export interface HttpRequest {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Aborts the request at any stage; the body then throws HttpFault `aborted`. */
  readonly signal: AbortSignal
  readonly connection?: Connection | undefined
  /** Absent: the client's own. */
  readonly connectTimeoutMs?: number
  /** No byte of the body for so long is HttpFault `timeout`. */
  readonly firstByteTimeoutMs: number
  /** So is a pause of this length after the first byte, while the body is read; absent: no limit. */
  readonly idleTimeoutMs?: number
  /** And an answer that has not ended by then, read or not; absent: no limit. */
  readonly answerTimeoutMs?: number
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Read once. A reader that stops reading stops the upstream. Throws HttpFault. */
  readonly body: AsyncIterable<Uint8Array>
  /** Takes, in order, what has arrived of the body and was not read. Not while a read is under way. */
  takeArrived(): readonly Uint8Array[]
  /** Drains the rest in the background within bounds, so that the connection can be used again. */
  discard(): void
}

/** `aborted`: by the caller; `refused` (a guard), `authentication` (no credential): nothing was sent; else the upstream's. */
type HttpFaultKind = 'network' | 'timeout' | 'aborted' | 'refused' | 'authentication'

export class HttpFault extends Error {
  readonly kind: HttpFaultKind
  /** There was no connection: nothing was sent. */
  readonly isUnsent: boolean

  constructor(kind: HttpFaultKind, cause?: unknown, isUnsent = false) {
    super(`upstream request failed: ${kind}`, { cause })
    this.name = 'HttpFault'
    this.kind = kind
    this.isUnsent = isUnsent
  }
}

export interface HttpClient {
  /** Resolves with the head of the response; throws HttpFault. */
  request(request: HttpRequest): Promise<HttpResponse>
}

/** Null where it has more than `bytesMax`. */
export const readBody = async ({ body }: HttpResponse, bytesMax: number): Promise<Uint8Array | null> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > bytesMax) return null
    chunks.push(chunk)
  }
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}

const boundDelay = (delayMs: number): number =>
  Math.min(sharedLimits.upstreamRetryAfterSecondsMax * 1_000, Math.max(0, Math.ceil(delayMs)))

/** Milliseconds, of OpenAI's `retry-after-ms`, or a `Retry-After` in seconds or as an HTTP date; null where it has no usable value. */
export const readRetryAfterMs = ({ headers }: Pick<HttpResponse, 'headers'>, nowMs: number): number | null => {
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (Number.isFinite(exact)) return boundDelay(exact)
  const header = headers['retry-after']
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return boundDelay(Number(text) * 1_000)
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? null : boundDelay(dateMs - nowMs)
}
