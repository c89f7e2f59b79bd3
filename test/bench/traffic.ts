import { v7 } from 'uuid'
import { formatUsd } from '../../src/domain/money.ts'
import { chargeFor } from '../../src/domain/pricing/charge.ts'
import { usageOf } from '../../src/domain/usage/usage.ts'
import type { Fact } from '../../src/events/envelope.ts'
import type { Appended, EventLog } from '../../src/log/event-log.ts'
import { tokens } from './content.ts'
import { benchModel, picosPerAnswer, priceFile } from './price.ts'

const workspaces = 16
const reserved = '0.001'
const priceVersion = '0123456789abcdef'
const deadline = '2100-01-01T00:00:00.000Z'

const workspaceOf = (request: number): string => `workspace-${request % workspaces}`
const allowanceOf = (workspaceId: string): string => `allowance-of-${workspaceId}`

const { uncachedInput, cachedInput, output } = tokens.chat
const normalised = usageOf({ total: uncachedInput + cachedInput, cacheRead: cachedInput }, { total: output })
const { lines } = chargeFor(priceFile.prices[0].sheet, normalised)
const total = formatUsd(picosPerAnswer('chat'))

const commonOf = (request: number, requestId: string) => {
  const workspaceId = workspaceOf(request)
  const allowanceId = allowanceOf(workspaceId)
  return { requestId, workspaceId, allowanceId, keyId: `key-of-${workspaceId}`, surface: 'chat', reserved } as const
}

/** Both events of one request, as the gateway writes them. */
export const requestFacts = (request: number): readonly Fact[] => {
  const common = commonOf(request, v7())
  const served = { model: benchModel, provider: 'openai' }
  return [
    {
      type: 'RequestRouted',
      data: {
        ...common,
        model: benchModel,
        router: null,
        stream: request % 2 === 0,
        candidates: [{ ...served, upstreamModel: 'bench', priceVersion }],
        outputCap: null,
        deadline,
      },
    },
    {
      type: 'UsageRecorded',
      data: {
        ...common,
        ...served,
        level: 0,
        priceVersion,
        usage: normalised,
        source: 'reported',
        lines: [...lines],
        total,
        attempts: [{ ...served, outcome: 'served', status: 200, reason: null, durationMs: 812 }],
        outcome: 'completed',
      },
    },
  ]
}

const openWorkspaces = async (log: EventLog): Promise<void> => {
  for (let each = 0; each < workspaces; each += 1) {
    const workspaceId = workspaceOf(each)
    await log.append([{ type: 'WorkspaceOpened', data: { workspaceId, name: workspaceId, creditLimit: '0' } }])
    const holdId = allowanceOf(workspaceId)
    await log.postToWallet(workspaceId, [
      { type: 'WalletCredited', data: { workspaceId, amount: '1000000', reference: 'bench', note: '' } },
      {
        type: 'HoldPlaced',
        data: { holdId, workspaceId, purpose: 'allowance', amount: '500000', deadline, owner: log.writer },
      },
    ])
  }
}

const requestsAtOnce = 10_000 // Below what a log takes before it refuses.

/** Fills a log with so many events of requests, two each, in full frames; answers with the events that it then holds. */
export const appendTraffic = async (log: EventLog, events: number): Promise<number> => {
  await openWorkspaces(log)
  for (let request = 0; request < events / 2; request += requestsAtOnce) {
    const appends: Promise<Appended>[] = []
    for (let each = request; each < Math.min(events / 2, request + requestsAtOnce); each += 1)
      appends.push(log.append(requestFacts(each)))
    await Promise.all(appends)
  }
  return events + 3 * workspaces
}
