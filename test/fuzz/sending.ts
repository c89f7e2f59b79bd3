import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { Agent, type Dispatcher } from 'undici'
import type { Documented, Received, Sent } from '../support/openapi-client.ts'

const connections = 32

/** How long a server may be silent behind what may be the end of its answer: some streams have none. */
const silenceMs = 400
/** And how long it may go on: a tail of the ledger does as long as there is anything to tell. */
const goesOnMs = 2_000

/** What comes until the end, or until nothing more does. */
const readStream = async (body: Readable): Promise<string> => {
  const chunks: Buffer[] = []
  const leave = (): void => void body.destroy()
  const enough = setTimeout(leave, goesOnMs)
  let silence = setTimeout(leave, silenceMs)
  body.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    clearTimeout(silence)
    silence = setTimeout(leave, silenceMs)
  })
  await finished(body).catch(() => undefined)
  clearTimeout(enough)
  clearTimeout(silence)
  return Buffer.concat(chunks).toString()
}

/** Connections that are kept for requests as HTTP has them. */
export class KeptConnections {
  readonly #agent = new Agent({ connections, pipelining: 1, keepAliveTimeout: 1_000 })
  readonly #origin: string

  constructor(origin: string) {
    this.#origin = origin
  }

  /** Rejects where the answer is not whole within the bound; a stream is left once it is silent. */
  async send({ method }: Documented, { path, headers, body }: Sent, withinMs: number): Promise<Received> {
    const response = await this.#agent.request({
      origin: this.#origin,
      path,
      method: method as Dispatcher.HttpMethod,
      headers,
      body: body ?? null,
      signal: AbortSignal.timeout(withinMs),
    })
    const contentType = String(response.headers['content-type'] ?? '')
    const isStream = contentType.startsWith('text/event-stream')
    const text = await (isStream ? readStream(response.body) : response.body.text())
    return { status: response.statusCode, contentType, text }
  }

  stop(): Promise<void> {
    return this.#agent.destroy()
  }
}

/** What came of bytes that were sent; `hung` where neither an answer nor the end of the connection came in time. */
export interface Exchanged {
  readonly text: string
  readonly statuses: readonly number[]
  readonly hung: boolean
}

const statusesIn = (text: string): readonly number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

/** Sends bytes on a connection of their own; a client that leaves is gone after so many of them, or with the first of the answer. */
export const exchangeBytes = (
  port: number,
  bytes: Buffer,
  leavesAfter: number | null,
  withinMs: number,
): Promise<Exchanged> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: false })
    const chunks: Buffer[] = []
    let silence: NodeJS.Timeout | undefined
    let hung = false
    let bound = setTimeout(() => {
      hung = true
      socket.destroy()
    }, withinMs)
    socket.on('error', () => undefined) // A server may close while bytes are on their way.
    socket.on('data', (chunk) => {
      if (chunks.length === 0) {
        clearTimeout(bound)
        bound = setTimeout(() => socket.destroy(), goesOnMs)
      }
      chunks.push(chunk)
      clearTimeout(silence)
      silence = setTimeout(() => socket.destroy(), silenceMs)
      if (leavesAfter !== null) socket.destroy()
    })
    socket.on('close', () => {
      clearTimeout(bound)
      clearTimeout(silence)
      const text = Buffer.concat(chunks).toString('latin1')
      resolve({ text, statuses: statusesIn(text), hung })
    })
    socket.write(bytes.subarray(0, leavesAfter ?? bytes.length), () => {
      if (leavesAfter !== null && leavesAfter < bytes.length) socket.destroy()
    })
  })
