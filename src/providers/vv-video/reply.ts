import { Buffer } from 'node:buffer'
import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse } from '../http.ts'
import { providerLimits } from '../limits.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import { readRetryAfterMs } from './retry-after.ts'

export interface VendorReply {
  readonly status: number | null
  readonly retryAfterMs: number | null
  /** Null where the body is none, or did not arrive whole. */
  readonly envelope: Envelope | null
  readonly fault: string
}

export interface VendorCall extends Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body'> {
  /** From the first byte sent to the last one read. */
  readonly timeoutMs: number
}

const noReply = (fault: string): VendorReply => ({ status: null, retryAfterMs: null, envelope: null, fault })

const readText = async ({ body }: HttpResponse): Promise<string | null> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > providerLimits.videoAnswerBytesMax) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const readBody = async (response: HttpResponse): Promise<Pick<VendorReply, 'envelope' | 'fault'>> => {
  const text = await readText(response)
  if (text === null) return { envelope: null, fault: 'answer_too_large' }
  return { envelope: readEnvelope(text), fault: 'no_envelope' }
}

class Patience {
  readonly #cancel = new AbortController()
  readonly #giveUp = (): void => this.#cancel.abort()
  readonly #asked: AbortSignal
  readonly #timer: NodeJS.Timeout

  constructor(asked: AbortSignal, timeoutMs: number) {
    this.#asked = asked
    this.#timer = setTimeout(this.#giveUp, timeoutMs)
    if (asked.aborted) this.#giveUp()
    else asked.addEventListener('abort', this.#giveUp, { once: true })
  }

  get signal(): AbortSignal {
    return this.#cancel.signal
  }

  wordFor({ kind }: HttpFault): string {
    return kind === 'aborted' && !this.#asked.aborted ? 'timeout' : kind
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#asked.removeEventListener('abort', this.#giveUp)
  }
}

/** Never rejects for a fault of the vendor: the reply shows how far it came. */
export const callVendor = async (
  http: HttpClient,
  clock: () => number,
  { timeoutMs, ...request }: VendorCall,
  asked: AbortSignal,
): Promise<VendorReply> => {
  const patience = new Patience(asked, timeoutMs)
  let head = noReply('')
  try {
    const response = await http.request({ ...request, signal: patience.signal, firstByteTimeoutMs: timeoutMs })
    const retryAfterMs = readRetryAfterMs(response.headers['retry-after'], clock())
    head = { status: response.status, retryAfterMs, envelope: null, fault: '' }
    return { ...head, ...(await readBody(response)) }
  } catch (fault) {
    if (!(fault instanceof HttpFault)) throw fault
    return { ...head, fault: patience.wordFor(fault) }
  } finally {
    patience.end()
  }
}
