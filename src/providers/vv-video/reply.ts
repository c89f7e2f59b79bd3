import { Buffer } from 'node:buffer'
import { sharedLimits } from '../../runtime/limits.ts'
import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse } from '../http.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import { vendorLimits } from './limits.ts'

const bounded = (delayMs: number): number =>
  Math.min(sharedLimits.upstreamRetryAfterSecondsMax * 1_000, Math.max(0, Math.ceil(delayMs)))

/** Milliseconds, of a `Retry-After` in seconds or as an HTTP date; null where it has no usable value. */
const readRetryAfterMs = (header: string | string[] | undefined, nowMs: number): number | null => {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return bounded(Number(text) * 1_000)
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? null : bounded(dateMs - nowMs)
}

export interface VendorReply {
  readonly status: number | null
  readonly retryAfterMs: number | null
  /** Null where the body is none, or did not arrive whole. */
  readonly envelope: Envelope | null
  readonly fault: string
}

interface VendorCall extends Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body'> {
  /** From the first byte sent to the last one read. */
  readonly timeoutMs: number
}

const noReply = (fault: string): VendorReply => ({ status: null, retryAfterMs: null, envelope: null, fault })

const readText = async ({ body }: HttpResponse): Promise<string | null> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > vendorLimits.videoAnswerBytesMax) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const readBody = async (response: HttpResponse): Promise<Pick<VendorReply, 'envelope' | 'fault'>> => {
  const text = await readText(response)
  if (text === null) return { envelope: null, fault: 'answer_too_large' }
  return { envelope: readEnvelope(text), fault: 'no_envelope' }
}

class RequestTimeout {
  readonly #cancel = new AbortController()
  readonly #giveUp = (): void => this.#cancel.abort()
  readonly #callerSignal: AbortSignal
  readonly #timer: NodeJS.Timeout

  constructor(callerSignal: AbortSignal, timeoutMs: number) {
    this.#callerSignal = callerSignal
    this.#timer = setTimeout(this.#giveUp, timeoutMs)
    if (callerSignal.aborted) this.#giveUp()
    else callerSignal.addEventListener('abort', this.#giveUp, { once: true })
  }

  get signal(): AbortSignal {
    return this.#cancel.signal
  }

  reasonFor({ kind }: HttpFault): string {
    return kind === 'aborted' && !this.#callerSignal.aborted ? 'timeout' : kind
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#callerSignal.removeEventListener('abort', this.#giveUp)
  }
}

/** Never rejects for a fault of the vendor: the reply shows how far it came. */
export const callVendor = async (
  http: HttpClient,
  clock: () => number,
  { timeoutMs, ...request }: VendorCall,
  callerSignal: AbortSignal,
): Promise<VendorReply> => {
  const timeout = new RequestTimeout(callerSignal, timeoutMs)
  let head = noReply('')
  try {
    const response = await http.request({ ...request, signal: timeout.signal, firstByteTimeoutMs: timeoutMs })
    const retryAfterMs = readRetryAfterMs(response.headers['retry-after'], clock())
    head = { status: response.status, retryAfterMs, envelope: null, fault: '' }
    return { ...head, ...(await readBody(response)) }
  } catch (fault) {
    if (!(fault instanceof HttpFault)) throw fault
    return { ...head, fault: timeout.reasonFor(fault) }
  } finally {
    timeout.end()
  }
}
