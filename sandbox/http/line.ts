import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

/** The response to one client. Every wait ends when the client goes, and then nothing more is written. */
export class Line {
  readonly #response: ServerResponse
  #closed: boolean
  #broken = false
  #wake: () => void = () => undefined

  constructor(response: ServerResponse) {
    this.#response = response
    this.#closed = response.destroyed
    response.once('close', () => this.#close())
  }

  get closed(): boolean {
    return this.#closed || this.#response.destroyed
  }

  /** True once `break` cut the connection, and not the client. */
  get broken(): boolean {
    return this.#broken
  }

  get ended(): boolean {
    return this.#response.writableFinished
  }

  head(status: number, headers: OutgoingHttpHeaders): void {
    if (this.closed) return
    this.#response.writeHead(status, headers)
    this.#response.flushHeaders()
  }

  async pause(durationMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await this.#until((done) => {
      timer = setTimeout(done, durationMs)
    })
    clearTimeout(timer)
  }

  /** Waits only where the client reads too slowly. */
  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.closed || this.#response.write(bytes)) return
    await this.#until((done) => this.#response.once('drain', done))
  }

  /** Waits until the bytes have left, so that they arrive as a piece of their own. */
  async flush(bytes: string | Uint8Array): Promise<void> {
    await this.#until((done) => this.#response.write(bytes, () => done()))
  }

  async end(): Promise<void> {
    await this.#until((done) => this.#response.end(done))
  }

  break(): void {
    if (this.closed) return
    this.#broken = true
    this.#response.destroy()
  }

  /** Sends nothing until the client goes. */
  async hang(): Promise<void> {
    await this.#until(() => undefined)
  }

  async #until(start: (done: () => void) => void): Promise<void> {
    if (this.closed) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      start(resolve)
    })
  }

  #close(): void {
    this.#closed = true
    this.#wake()
  }
}
