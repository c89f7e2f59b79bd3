import { Buffer } from 'node:buffer'
import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse, readBody, readRetryAfterMs } from '../http.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import { vendorLimits } from './limits.ts'

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

const readReply = async (response: HttpResponse): Promise<Pick<VendorReply, 'envelope' | 'fault'>> => {
  const body = await readBody(response, vendorLimits.videoAnswerBytesMax)
  if (body === null) return { envelope: null, fault: 'answer_too_large' }
  return { envelope: readEnvelope(Buffer.from(body).toString()), fault: 'no_envelope' }
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
    const retryAfterMs = readRetryAfterMs(response, clock())
    head = { status: response.status, retryAfterMs, envelope: null, fault: '' }
    return { ...head, ...(await readReply(response)) }
  } catch (fault) {
    if (!(fault instanceof HttpFault)) throw fault
    return { ...head, fault: timeout.reasonFor(fault) }
  } finally {
    timeout.end()
  }
}
