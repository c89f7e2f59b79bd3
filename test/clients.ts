import { setTimeout as pause } from 'node:timers/promises'

/** What a client saw of one request. */
export interface Seen {
  /** Null when no header arrived. */
  readonly requestId: string | null
  /** Null when the connection broke. */
  readonly status: number | null
  /** True when the whole answer arrived. */
  readonly complete: boolean
  /** From the question to the last byte of the answer, or to the error. */
  readonly tookMs: number
}

export const chatBody = (model: string, stream: boolean, maxTokens = 12): string =>
  JSON.stringify({
    model,
    stream,
    max_tokens: maxTokens,
    messages: [{ role: 'user', content: 'Say a few words about money.' }],
  })

/** One chat request; never throws, since a broken connection is something a client sees too. */
export const chat = async (url: string, secret: string, body: string): Promise<Seen> => {
  let requestId: string | null = null
  let status: number | null = null
  const askedMs = performance.now()
  const seen = (complete: boolean): Seen => ({ requestId, status, complete, tookMs: performance.now() - askedMs })
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body,
    })
    requestId = response.headers.get('x-gateway-request-id')
    status = response.status
    const text = await response.text()
    const whole =
      body.includes('"stream":true') && status === 200
        ? text.endsWith('data: [DONE]\n\n') && !text.includes('"error"')
        : text.endsWith('}')
    return seen(whole)
  } catch {
    return seen(false)
  }
}

/** Clients that ask again and again until told to stop, and keep a journal of what they saw. */
export class Clients {
  readonly journal: Seen[] = []
  #running = true
  readonly #loops: readonly Promise<void>[]

  constructor(count: number, ask: () => Promise<Seen>) {
    this.#loops = Array.from({ length: count }, () => this.#loop(ask))
  }

  async stop(): Promise<readonly Seen[]> {
    this.#running = false
    await Promise.all(this.#loops)
    return this.journal
  }

  async #loop(ask: () => Promise<Seen>): Promise<void> {
    while (this.#running) {
      const seen = await ask()
      this.journal.push(seen)
      if (seen.status === null) await pause(20) // Nobody listens: the gateway is between two lives.
    }
  }
}

const lookAgainMsMin = 10
const lookAgainMsMax = 250

/** Resolves when the condition holds; rejects after a bound. What is dear to look at is looked at more seldom: the load shares the machine. */
export const until = async (holds: () => boolean | Promise<boolean>, boundMs = 60_000): Promise<void> => {
  const startedMs = performance.now()
  for (;;) {
    const lookedMs = performance.now()
    if (await holds()) return
    const nowMs = performance.now()
    if (nowMs - startedMs > boundMs) throw new Error(`not within ${boundMs} ms: ${holds.toString()}`)
    await pause(Math.min(lookAgainMsMax, Math.max(lookAgainMsMin, 3 * (nowMs - lookedMs))))
  }
}
