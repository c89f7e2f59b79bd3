/** So many connections, each with one request at a time, on plain sockets. */
import type { Socket } from 'node:net'
import { quantile } from './figures.ts'
import { ResponseReader } from './response-reader.ts'
import { openSocket } from './sockets.ts'

/** Of a load that ends by its number of requests. */
export const endlessSeconds = 3_600

export interface LoadResult {
  /** Answers within the time. */
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Whole answers of status 200, those that came after the time included. */
  readonly answers: number
  /** Status and number of any other. */
  readonly failures: { readonly [status: string]: number }
}

/** What is asked, and for how long. */
export interface Inquiry {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  /** The next request as it goes over a socket; null when there is none. */
  readonly nextRequest: () => Buffer | null
  /** How often a whole answer says the mark; null where that does not matter. */
  readonly marksExpected: number | null
}

/** What one run has seen so far. */
class Tally {
  readonly latenciesMs: number[] = []
  readonly failures: Record<string, number> = {}
  readonly #marksExpected: number | null
  answers = 0

  constructor(marksExpected: number | null) {
    this.#marksExpected = marksExpected
  }

  add({ status, marks }: ResponseReader, latencyMs: number, inTime: boolean): void {
    const isWhole = this.#marksExpected === null || marks === this.#marksExpected
    if (status === 200 && isWhole) {
      this.answers += 1
      if (inTime) this.latenciesMs.push(latencyMs)
    } else {
      const outcome = status === 200 ? `${marks} marks` : String(status)
      this.failures[outcome] = (this.failures[outcome] ?? 0) + 1
    }
  }
}

/** Asks again and again until the time is over or nothing is left to ask, and reads the last answer to its end. */
const keepAsking = (socket: Socket, { nextRequest }: Inquiry, untilMs: number, tally: Tally): Promise<void> =>
  new Promise((resolve, reject) => {
    const reader = new ResponseReader()
    let askedAtMs = 0
    const ask = (): void => {
      const request = performance.now() < untilMs ? nextRequest() : null
      if (request === null) {
        resolve()
        return
      }
      reader.begin()
      askedAtMs = performance.now()
      socket.write(request)
    }
    socket.on('data', (bytes: Buffer) => {
      if (!reader.push(bytes)) return
      const nowMs = performance.now()
      tally.add(reader, nowMs - askedAtMs, nowMs <= untilMs)
      ask()
    })
    socket.once('error', reject).once('close', () => reject(new Error('the server closed a connection')))
    ask()
  })

export const inquire = async (inquiry: Inquiry): Promise<LoadResult> => {
  const { url, connections, seconds, marksExpected } = inquiry
  const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(url)))
  const tally = new Tally(marksExpected)
  const fromMs = performance.now()
  const untilMs = fromMs + seconds * 1_000
  await Promise.all(sockets.map((socket) => keepAsking(socket, inquiry, untilMs, tally)))
  const tookMs = Math.min(performance.now(), untilMs) - fromMs
  for (const socket of sockets) socket.destroy()
  const sorted = Float64Array.from(tally.latenciesMs).sort()
  return {
    perSecond: sorted.length / (tookMs / 1_000),
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    answers: tally.answers,
    failures: tally.failures,
  }
}
