import type { ServerResponse } from 'node:http'
import type { GatewayError } from '../../../../errors/gateway-error.ts'
import { endResponse, waitForDrain } from './response-writer.ts'
import type { StreamFormat } from './stream-format.ts'

const headers = { 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' } as const
const blankLine = Buffer.from('\n\n')

const twoLineFeeds = 0x0a0a
const twoCarriageReturns = 0x0d0d
const twoLineEnds = 0x0d0a0d0a

const lastBytes = (before: number, chunk: Uint8Array): number => {
  let last = before
  for (let at = Math.max(0, chunk.length - 4); at < chunk.length; at += 1) last = (last << 8) | chunk[at]!
  return last
}

const endsEvent = (last: number): boolean => {
  const lastTwo = last & 0xffff
  return lastTwo === twoLineFeeds || lastTwo === twoCarriageReturns || last === twoLineEnds
}

export interface StreamBounds {
  readonly keepAliveCommentMs: number
  readonly clientStallMs: number
}

/** The head is sent with the first bytes. */
export class EventStream {
  readonly #response: ServerResponse
  readonly #contentType: string
  readonly #bounds: StreamBounds
  readonly #format: StreamFormat
  #keepAlive: NodeJS.Timeout | undefined
  #last = twoLineFeeds
  #full = false

  constructor(response: ServerResponse, contentType: string, bounds: StreamBounds, format: StreamFormat) {
    this.#response = response
    this.#contentType = contentType
    this.#bounds = bounds
    this.#format = format
  }

  get begun(): boolean {
    return this.#keepAlive !== undefined
  }

  get clientGone(): boolean {
    return this.#response.closed
  }

  /** True when the client does not keep up: await `drained` before the next write. */
  write(chunk: Uint8Array): boolean {
    if (this.#keepAlive === undefined) this.#begin()
    else this.#keepAlive.refresh()
    this.#format.observe?.(chunk)
    this.#last = lastBytes(this.#last, chunk)
    this.#full = !this.#response.write(chunk)
    return this.#full
  }

  async drained(): Promise<void> {
    await waitForDrain(this.#response, this.#bounds.clientStallMs)
    this.#full = false
  }

  /** Sends an error event, after a blank line where the last event was cut. */
  fail(error: GatewayError): void {
    if (this.clientGone) return
    if (!endsEvent(this.#last)) this.write(blankLine)
    this.write(this.#format.errorEvent(error))
  }

  end(): void {
    clearInterval(this.#keepAlive)
    endResponse(this.#response, this.#bounds.clientStallMs)
  }

  #begin(): void {
    this.#response.writeHead(200, { 'Content-Type': this.#contentType, ...headers })
    this.#keepAlive = setInterval(() => this.#sendKeepAlive(), this.#bounds.keepAliveCommentMs)
  }

  /** Only between events: inside one it would break it. */
  #sendKeepAlive(): void {
    if (endsEvent(this.#last) && !this.#full && !this.clientGone)
      this.#full = !this.#response.write(this.#format.keepAlive)
  }
}
