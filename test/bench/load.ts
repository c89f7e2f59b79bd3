/**
 * The load generator, a process of its own: so many connections, each with one request at a time, on plain sockets. autocannon's
 * histogram counts whole milliseconds, and an HTTP client costs as much as the servers that share its cores.
 */
import type { Socket } from 'node:net'
import { marksIn } from './answers.ts'
import { answerQuestions } from './child.ts'
import { quantile } from './figures.ts'
import { type Asking, requestOf } from './requests.ts'
import { ResponseReader } from './response-reader.ts'
import { openSocket } from './sockets.ts'

export interface Load extends Asking {
  readonly connections: number
  readonly seconds: number
}

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

/** What one run has seen so far. */
class Tally {
  readonly latenciesMs: number[] = []
  readonly failures: Record<string, number> = {}
  readonly #marksExpected: number
  answers = 0

  constructor(marksExpected: number) {
    this.#marksExpected = marksExpected
  }

  add({ status, marks }: ResponseReader, latencyMs: number, inTime: boolean): void {
    if (status === 200 && marks === this.#marksExpected) {
      this.answers += 1
      if (inTime) this.latenciesMs.push(latencyMs)
    } else {
      const outcome = status === 200 ? `${marks} marks` : String(status)
      this.failures[outcome] = (this.failures[outcome] ?? 0) + 1
    }
  }
}

/** Asks again and again until the time is over, and reads the last answer to its end. */
const keepAsking = (socket: Socket, request: Buffer, untilMs: number, tally: Tally): Promise<void> =>
  new Promise((resolve, reject) => {
    const reader = new ResponseReader()
    let askedAtMs = 0
    const ask = (): void => {
      reader.begin()
      askedAtMs = performance.now()
      socket.write(request)
    }
    socket.on('data', (bytes: Buffer) => {
      if (!reader.push(bytes)) return
      const nowMs = performance.now()
      tally.add(reader, nowMs - askedAtMs, nowMs <= untilMs)
      if (nowMs < untilMs) ask()
      else resolve()
    })
    socket.once('error', reject).once('close', () => reject(new Error('the server closed a connection')))
    ask()
  })

const run = async (load: Load): Promise<LoadResult> => {
  const request = requestOf(load)
  const sockets = await Promise.all(Array.from({ length: load.connections }, () => openSocket(load.url)))
  const tally = new Tally(marksIn(load.format, load.stream))
  const untilMs = performance.now() + load.seconds * 1_000
  await Promise.all(sockets.map((socket) => keepAsking(socket, request, untilMs, tally)))
  for (const socket of sockets) socket.destroy()
  const sorted = Float64Array.from(tally.latenciesMs).sort()
  return {
    perSecond: sorted.length / load.seconds,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    answers: tally.answers,
    failures: tally.failures,
  }
}

answerQuestions(run)
