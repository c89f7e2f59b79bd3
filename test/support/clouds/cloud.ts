import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface CloudCall {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** What the cloud itself answers. */
export interface CloudAnswer {
  readonly status: number
  readonly json?: unknown
  /** In place of JSON. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What it asks a sandbox, whose answer it passes on. */
export interface Forwarded {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Makes the cloud's own framing of the sandbox's answer. */
  readonly reframe?: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
  readonly contentType?: string
  /** The cloud's own form of the sandbox's error. */
  readonly errorOf?: (json: unknown) => unknown
  readonly answerHeaders?: Readonly<Record<string, string>>
}

export type CloudGate = (call: CloudCall) => CloudAnswer | Forwarded

const readCall = async (request: IncomingMessage): Promise<CloudCall> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://cloud')
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  return { method: request.method ?? '', path: pathname, query: searchParams, headers, body: Buffer.concat(chunks) }
}

const forward = async (method: string, forwarded: Forwarded, response: ServerResponse): Promise<void> => {
  const { url, headers, body, reframe, contentType, errorOf, answerHeaders } = forwarded
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const answer = await fetch(url, { method, headers, body, signal: gone.signal })
  const isError = answer.status >= 400
  const type = (isError ? null : contentType) ?? answer.headers.get('content-type') ?? 'application/json'
  response.writeHead(answer.status, { 'content-type': type, ...answerHeaders })
  if (isError && errorOf !== undefined) return void response.end(JSON.stringify(errorOf(await answer.json())))
  const chunks = answer.body ?? (async function* () {})()
  for await (const chunk of reframe === undefined || isError ? chunks : reframe(chunks)) response.write(chunk)
  response.end()
}

/** A cloud in front of a sandbox: it lets nothing through that its gate refuses. The result is its origin. */
export const startCloud = async (t: Test, gate: CloudGate): Promise<string> => {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const call = await readCall(request)
      const decided = gate(call)
      if ('url' in decided) return await forward(call.method, decided, response)
      response.writeHead(decided.status, { 'content-type': 'application/json', ...decided.headers })
      response.end(decided.text ?? JSON.stringify(decided.json))
    } catch {
      response.destroy()
    }
  }
  const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Tokens of an identity service that a cloud accepts until they expire, or are revoked. */
export class IssuedTokens {
  readonly #expiries = new Map<string, number>()
  lifetimeSeconds = 3_600

  get count(): number {
    return this.#expiries.size
  }

  issue(): { readonly token: string; readonly expiresInSeconds: number } {
    const token = `token-${this.#expiries.size + 1}-${crypto.randomUUID()}`
    this.#expiries.set(token, Date.now() + this.lifetimeSeconds * 1_000)
    return { token, expiresInSeconds: this.lifetimeSeconds }
  }

  accepts(authorization: string | undefined): boolean {
    const [, token = ''] = /^Bearer (.+)$/.exec(authorization ?? '') ?? []
    return (this.#expiries.get(token) ?? 0) > Date.now()
  }

  revokeAll(): void {
    for (const token of this.#expiries.keys()) this.#expiries.set(token, 0)
  }
}
