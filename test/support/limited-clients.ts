import { setTimeout as pause } from 'node:timers/promises'
import type { Limits } from '../../src/events/types.ts'
import { Clients, chat, type Seen, until } from './clients.ts'
import type { Deployment } from './deployment.ts'

const clients = 20
/** Together they still ask far more often than the limits of these tests let in. */
const refusedPauseMs = 200

export const setLimits = async ({ operator }: Deployment, workspaceId: string, limits: Limits): Promise<void> => {
  await operator.log.append([{ type: 'LimitsSet', data: { workspaceId, limits } }])
}

/** A refusal, or a question about what is not there, tells of limits and costs nothing. */
const isTold = async ({ urls }: Deployment, secret: string): Promise<boolean> => {
  const headers = { authorization: `Bearer ${secret}` }
  const asked = await Promise.all(urls.map((url) => fetch(`${url}/v1/responses/none`, { headers })))
  return asked.every((response) => response.headers.has('x-ratelimit-limit-requests'))
}

/** The key of a workspace with limits that every edge knows of. */
export const openLimited = async (deployment: Deployment, workspaceId: string, limits: Limits): Promise<string> => {
  const { secret } = await deployment.operator.openAccount(workspaceId, '100')
  await setLimits(deployment, workspaceId, { requestsPerMinute: 1_000_000, ...limits })
  await until(() => isTold(deployment, secret))
  return secret
}

/**
 * 20 clients that take turns at the edges, and wait a little when they are refused. Of a machine that
 * stands still for seconds an edge says 503; anything else fails.
 */
export class LimitedClients {
  served = 0
  refused = 0
  /** The longest that no client heard anything: a machine that stands still measures nothing. */
  silentMs = 0
  #heardMs = performance.now()
  readonly #load: Clients
  readonly #startedMs = performance.now()

  constructor({ urls }: Deployment, secret: string, body: string) {
    let turn = 0
    this.#load = new Clients(clients, async () => {
      turn += 1
      const seen = await chat(urls[turn % urls.length]!, secret, body)
      this.#hear()
      if (seen.status === 200) this.served += 1
      else await this.#wait(seen)
      return seen
    })
  }

  /** Since they began. */
  get minutes(): number {
    return (performance.now() - this.#startedMs) / 60_000
  }

  async stop(): Promise<void> {
    await this.#load.stop()
  }

  #hear(): void {
    const nowMs = performance.now()
    this.silentMs = Math.max(this.silentMs, nowMs - this.#heardMs)
    this.#heardMs = nowMs
  }

  async #wait({ status }: Seen): Promise<void> {
    if (status === 429) this.refused += 1
    else if (status !== 503) throw new Error(`answered ${status}`)
    await pause(refusedPauseMs)
  }
}
