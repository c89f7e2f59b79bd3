import { Buffer } from 'node:buffer'
import type { TaskPayload } from '../../../src/domain/video/request.ts'
import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse } from '../../../src/providers/http.ts'
import { openVideoVendor } from '../../../src/providers/vv-video/open-video-vendor.ts'
import type { VendorCredential } from '../../../src/providers/vv-video/vendor.ts'

export const taskId = `task_${'a'.repeat(32)}`
export const vendorTaskId = '831234567890123456'
export const nowMs = Date.parse('2026-11-21T12:00:00Z')
export const never = new AbortController().signal

export const payload: TaskPayload = {
  taskId,
  workspaceId: 'acme',
  kind: 'text2video',
  provider: 'vv',
  upstreamModel: 'vendor-v3',
  body: { prompt: 'A cat.', duration: '5', mode: 'std' },
  callbackUrl: 'https://caller.example/hook',
}

/** One answer of the script: a head with a body, or how the connection fails. */
export interface Scripted {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The connection breaks: before the head, or behind the head and before the body's end. */
  readonly breaks?: 'before_head' | 'in_body'
  readonly fault?: HttpFault
}

async function* chunksOf({ body, breaks }: Scripted): AsyncGenerator<Uint8Array> {
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? {})
  yield Buffer.from(text.slice(0, Math.ceil(text.length / 2)))
  if (breaks === 'in_body') throw new HttpFault('network')
  yield Buffer.from(text.slice(Math.ceil(text.length / 2)))
}

const responseOf = (scripted: Scripted): HttpResponse => ({
  status: scripted.status ?? 200,
  headers: scripted.headers ?? {},
  body: chunksOf(scripted),
  takeArrived: () => [],
  discard: () => undefined,
})

/** Answers as it is told, and keeps what it was asked. */
export class ScriptedClient implements HttpClient {
  readonly requests: HttpRequest[] = []
  answer: Scripted = {}

  async request(request: HttpRequest): Promise<HttpResponse> {
    this.requests.push(request)
    if (this.answer.fault !== undefined) throw this.answer.fault
    if (this.answer.breaks === 'before_head') throw new HttpFault('network')
    return responseOf(this.answer)
  }

  get last(): HttpRequest {
    const request = this.requests.at(-1)
    if (request === undefined) throw new Error('nothing was asked')
    return request
  }
}

export const keyCredential: VendorCredential = { type: 'key', apiKey: 'sk-vendor-0123456789' }

export interface Opened {
  readonly http: ScriptedClient
  readonly vendor: ReturnType<typeof openVideoVendor>
}

export const open = (credential: VendorCredential = keyCredential, clock = () => nowMs): Opened => {
  const http = new ScriptedClient()
  const config = { name: 'vv', baseUrl: 'https://api.vendor.example/v1', credential, callsPerSecond: 20 }
  return { http, vendor: openVideoVendor({ config, http, clock }) }
}

export const envelope = (data: unknown, more: object = {}): object => ({
  code: 0,
  message: 'SUCCEED',
  request_id: 'request-1',
  data,
  ...more,
})

export const fault = (code: number, message = 'no'): object => ({ code, message, request_id: 'request-1' })
