import { Agent, request } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../bench/figures.ts'
import { freshText } from './connection.ts'

export interface NeighbourOptions {
  readonly url: string
  readonly key: string
  readonly model: string
  readonly perSecond: number
  /** Whether each request has an idempotency key. */
  readonly keyed: boolean
}

export interface Served {
  readonly asked: number
  /** Answers other than 200, by their status; 0 for a connection that broke. */
  readonly failed: ReadonlyMap<number, number>
  readonly p99Ms: number
}

/** More than it has requests at once while it waits for a fifth of a second. */
const connectionsOpen = 8

type Send = (body: string) => Promise<number>

const createSend = ({ url, key, keyed }: NeighbourOptions): { readonly send: Send; readonly agent: Agent } => {
  const isTls = url.startsWith('https:')
  const agent = isTls ? new TlsAgent({ keepAlive: true, rejectUnauthorized: false }) : new Agent({ keepAlive: true })
  const send: Send = (body) =>
    new Promise((resolve) => {
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...(keyed ? { 'idempotency-key': freshText() } : {}),
      }
      const sent = (isTls ? requestTls : request)(`${url}/v1/chat/completions`, { method: 'POST', agent, headers })
      sent.on('error', () => resolve(0))
      sent.on('response', (response) => {
        response.on('error', () => resolve(0))
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      sent.end(body)
    })
  return { send, agent }
}

const asText = (model: string): string =>
  JSON.stringify({ model, max_tokens: 16, messages: [{ role: 'user', content: 'Hi!' }] })

/** A client that has been there for a while: its connections are open. */
export class Neighbour {
  readonly #perSecond: number
  readonly #body: string
  readonly #send: Send
  readonly #agent: Agent

  private constructor({ send, agent }: ReturnType<typeof createSend>, { model, perSecond }: NeighbourOptions) {
    this.#send = send
    this.#agent = agent
    this.#body = asText(model)
    this.#perSecond = perSecond
  }

  static async open(options: NeighbourOptions): Promise<Neighbour> {
    const neighbour = new Neighbour(createSend(options), options)
    await Promise.all(Array.from({ length: connectionsOpen }, () => neighbour.#send(neighbour.#body)))
    return neighbour
  }

  /** At a steady pace, whatever the answers take, so that a slow one does not hide those behind it. */
  async ask(ms: number): Promise<Served> {
    const failed = new Map<number, number>()
    const tookMs: number[] = []
    const askOnce = async (dueMs: number): Promise<void> => {
      const status = await this.#send(this.#body)
      tookMs.push(performance.now() - dueMs)
      if (status !== 200) failed.set(status, (failed.get(status) ?? 0) + 1)
    }
    const began = performance.now()
    const everyMs = 1_000 / this.#perSecond
    const asked: Promise<void>[] = []
    for (let dueMs = began; dueMs < began + ms; dueMs += everyMs) {
      await pause(Math.max(0, dueMs - performance.now()))
      asked.push(askOnce(Math.max(dueMs, performance.now() - everyMs))) // Being late ourselves is no delay of the gateway's.
    }
    await Promise.all(asked)
    return { asked: asked.length, failed, p99Ms: quantile(Float64Array.from(tookMs).sort(), 0.99) }
  }

  close(): void {
    this.#agent.destroy()
  }
}
