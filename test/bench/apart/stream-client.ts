/** A client of one long stream, a process of its own: it reads in bursts, or at once, and looks how far ahead of it the upstream is. */
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { contentChunkBytes } from '../chat-answers.ts'
import { answerQuestions } from '../child.ts'
import { quantile } from '../figures.ts'
import { queuedBytes } from '../procfs.ts'
import { type Addressed, requestOf } from '../requests.ts'
import { ResponseReader } from '../response-reader.ts'
import type { Shape } from '../shape.ts'
import { openSocket } from '../sockets.ts'
import type { Progress } from '../upstream.ts'

/** How a slow client reads. */
export interface Bursts {
  readonly bytes: number
  readonly pauseMs: number
}

export interface StreamQuestion extends Addressed {
  readonly shape: Shape
  readonly upstreamUrl: string
  /** The name by which the upstream counts. */
  readonly caller: string
  /** Null: everything is read as it comes. */
  readonly bursts: Bursts | null
}

export interface StreamResult {
  readonly status: number
  readonly chunks: number
  readonly seconds: number
  /** Between two reads. */
  readonly gapP99Ms: number
  readonly gapMaxMs: number
  /** The most that the upstream had written and this client not read, at the end of a pause. */
  readonly aheadBytesMax: number
  /** The most of it that was in no socket's buffer, but in the gateway; null where the system does not tell. */
  readonly heldBytesMax: number | null
}

class StreamReading {
  readonly #question: StreamQuestion
  readonly #socket: Socket
  readonly #reader = new ResponseReader()
  readonly #ended = Promise.withResolvers<void>()
  readonly #gapsMs: number[] = []
  readonly #fromMs = performance.now()
  #readMs = this.#fromMs
  #burstBytes = 0
  #aheadBytesMax = 0
  #heldBytesMax: number | null = null

  constructor(question: StreamQuestion, socket: Socket) {
    this.#question = question
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => this.#read(bytes))
    socket.once('error', this.#ended.reject)
    socket.once('close', () => this.#ended.reject(new Error('the server closed the connection')))
  }

  async toEnd(): Promise<StreamResult> {
    this.#reader.begin()
    this.#socket.write(requestOf({ ...this.#question, stream: true }))
    await this.#ended.promise
    const { status, marks: chunks } = this.#reader
    const gapsMs = Float64Array.from(this.#gapsMs).sort()
    return {
      status,
      chunks,
      seconds: (performance.now() - this.#fromMs) / 1_000,
      gapP99Ms: quantile(gapsMs, 0.99),
      gapMaxMs: gapsMs.at(-1) ?? Number.NaN,
      aheadBytesMax: this.#aheadBytesMax,
      heldBytesMax: this.#heldBytesMax,
    }
  }

  #read(bytes: Buffer): void {
    const nowMs = performance.now()
    if (this.#reader.marks > 0) this.#gapsMs.push(nowMs - this.#readMs)
    this.#readMs = nowMs
    this.#burstBytes += bytes.length
    const { bursts } = this.#question
    if (this.#reader.push(bytes)) this.#ended.resolve()
    else if (bursts !== null && this.#burstBytes >= bursts.bytes) this.#pause(bursts).catch(this.#ended.reject)
  }

  async #pause({ pauseMs }: Bursts): Promise<void> {
    this.#burstBytes = 0
    this.#socket.pause()
    await delay(pauseMs)
    await this.#look()
    this.#socket.resume()
  }

  async #look(): Promise<void> {
    const { upstreamUrl, caller } = this.#question
    const all = (await (await fetch(`${upstreamUrl}/progress`)).json()) as Readonly<Record<string, Progress>>
    const { chunksWritten, callerPort } = all[caller]!
    const aheadBytes = (chunksWritten - this.#reader.marks) * contentChunkBytes
    const kernelBytes = queuedBytes([callerPort, this.#socket.localPort!])
    this.#aheadBytesMax = Math.max(this.#aheadBytesMax, aheadBytes)
    if (kernelBytes !== null) this.#heldBytesMax = Math.max(this.#heldBytesMax ?? 0, aheadBytes - kernelBytes)
  }
}

const run = async (question: StreamQuestion): Promise<StreamResult> => {
  const socket = await openSocket(question.url)
  try {
    return await new StreamReading(question, socket).toEnd()
  } finally {
    socket.destroy()
  }
}

answerQuestions(run)
