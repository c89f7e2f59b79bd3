import { setTimeout as pause } from 'node:timers/promises'
import type { Limits } from '../src/events/types.ts'
import { Clients, chat, type Seen, until } from './clients.ts'
import type { Deployment } from './deployment.ts'

const clients = 20

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

export interface Load {
  readonly journal: readonly Seen[]
  readonly served: number
  /** From the first question to the moment when no more were asked, and to the last answer. */
  readonly leastMinutes: number
  readonly mostMinutes: number
}

/** 20 clients that take turns at the edges for so long, and wait a little when they are refused. */
export const askFor = async ({ urls }: Deployment, ms: number, secret: string, body: string): Promise<Load> => {
  let turn = 0
  const startedMs = performance.now()
  const minutes = (): number => (performance.now() - startedMs) / 60_000
  const load = new Clients(clients, async () => {
    turn += 1
    const seen = await chat(urls[turn % urls.length]!, secret, body)
    if (seen.status !== 200) await pause(30)
    return seen
  })
  await pause(ms)
  const leastMinutes = minutes()
  const journal = await load.stop()
  const served = journal.filter(({ status }) => status === 200).length
  return { journal, served, leastMinutes, mostMinutes: minutes() }
}
