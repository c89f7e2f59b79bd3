import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { isLong } from './long-form.ts'
import { startTurnClock } from './turn-clock.ts'

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

const askChat = (url: string, secret: string, body: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body,
  })

/** One chat request; never throws, since a broken connection is something a client sees too. */
export const chat = async (url: string, secret: string, body: string): Promise<Seen> => {
  let requestId: string | null = null
  let status: number | null = null
  const askedMs = performance.now()
  const seen = (complete: boolean): Seen => ({ requestId, status, complete, tookMs: performance.now() - askedMs })
  try {
    const response = await askChat(url, secret, body)
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

const thinkMs = isLong ? 20 : 50
const refusedPauseMs = 50

/** Eight clients of plain answers, until the end of the test at the latest, who leave most of the machine to what happens under their load. */
export const startClients = (t: Test, url: string, secret: string): Clients => {
  const clients = new Clients(8, async () => {
    const seen = await chat(url, secret, chatBody('openai/plain', false))
    await pause(seen.status === 200 ? thinkMs : refusedPauseMs)
    return seen
  })
  t.teardown(async () => {
    await clients.stop()
  })
  return clients
}

/** Whoever asks while nothing can be billed is told so, and when to ask again. */
export const checkRefused = async (t: Test, url: string, secret: string): Promise<void> => {
  const refused = await askChat(url, secret, chatBody('openai/plain', false))
  t.equal(refused.status, 503)
  t.ok(Number(refused.headers.get('retry-after')) >= 1)
  t.match(await refused.json(), { error: { code: 'log_unavailable', type: 'api_error' } })
}

const lookAgainMsMin = 10
const lookAgainMsMax = 250

/**
 * Resolves when the condition holds; rejects after a bound, of the time in which this process has its turn. What is dear to look at is
 * looked at more seldom: the load shares the machine.
 */
export const until = async (holds: () => boolean | Promise<boolean>, boundMs = 60_000): Promise<void> => {
  const clock = startTurnClock()
  try {
    for (;;) {
      const lookedMs = performance.now()
      if (await holds()) return
      if (clock.elapsedMs() > boundMs) throw new Error(`not within ${boundMs} ms: ${holds.toString()}`)
      await pause(Math.min(lookAgainMsMax, Math.max(lookAgainMsMin, 3 * (performance.now() - lookedMs))))
    }
  } finally {
    clock.stop()
  }
}

export const blockEventLoop = (ms: number): void => {
  for (const startedMs = performance.now(); performance.now() - startedMs < ms; );
}
