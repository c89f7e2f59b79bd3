import { openOperatorPlatform } from '../../src/cli/platform.ts'
import type { Fact } from '../../src/events/envelope.ts'
import { failed, interruptedBy, routed, used } from '../roles/projector/facts.ts'
import { type Account, runtime, type TestGateway } from '../support/gateway.ts'
import { quick } from '../support/video.ts'

const dayMs = 86_400_000
const factsPerFrame = 200
const { queueLeaseMs } = quick.videoPoller

/** Puts facts into the log at the time of the clock. */
export const sayAt = async (
  { config, bounds = {} }: Pick<TestGateway, 'config'> & { readonly bounds?: { readonly queueLeaseMs?: number } },
  clock: () => number,
  facts: readonly Fact[],
  walletOf: string | null = null,
): Promise<void> => {
  const { log, stop } = await openOperatorPlatform(config, { ...runtime, clock }, bounds)
  for (let first = 0; first < facts.length; first += factsPerFrame) {
    const some = facts.slice(first, first + factsPerFrame)
    await (walletOf === null ? log.append(some) : log.postToWallet(walletOf, some))
  }
  await stop()
}

/** Puts facts into the log as if they were said so long ago. */
export const sayAgo = (
  { config }: Pick<TestGateway, 'config'>,
  daysAgo: number,
  facts: readonly Fact[],
  walletOf: string | null = null,
): Promise<void> => sayAt({ config, bounds: { queueLeaseMs } }, () => Date.now() - daysAgo * dayMs, facts, walletOf)

/** The same for several days, the earliest first, over one connection. */
export const appendOverDays = async (
  { config }: Pick<TestGateway, 'config'>,
  said: readonly (readonly [daysAgo: number, facts: readonly Fact[]])[],
): Promise<void> => {
  let daysAgo = 0
  const clock = (): number => Date.now() - daysAgo * dayMs
  const { log, stop } = await openOperatorPlatform(config, { ...runtime, clock }, { queueLeaseMs })
  for (const [days, facts] of said) {
    daysAgo = days
    await log.append(facts)
  }
  await stop()
}

export interface SeededRequest {
  readonly id: string
  readonly keyId: string
  readonly model: string
  readonly tokens: number
  readonly surface?: 'chat' | 'messages' | 'responses'
  readonly tags?: Readonly<Record<string, string>>
  /** Why its stream broke off. */
  readonly brokenBy?: string
}

/** A request and its bill, at 1 USD per million tokens. */
export const requestFacts = (
  { workspaceId }: Pick<Account, 'workspaceId'>,
  { id: requestId, keyId, model, tokens, surface = 'chat', tags = {}, brokenBy }: SeededRequest,
): readonly Fact[] => {
  const total = (tokens / 1_000_000).toFixed(6).replace(/0+$/, '').replace(/\.$/, '')
  const lines = [{ item: 'input', quantity: tokens, unitPrice: '0.000001', amount: total }] as const
  const common = { workspaceId, keyId, surface }
  return [
    routed(requestId, { ...common, model, ...(Object.keys(tags).length === 0 ? {} : { tags }) }),
    used(requestId, {
      ...common,
      model,
      lines: [...lines],
      total,
      reserved: '0.05',
      firstTokenMs: 400 + (tokens % 300),
      ...(brokenBy === undefined ? {} : interruptedBy(brokenBy)),
    }),
  ]
}

/** Of a key, of another one, and of none that works. */
export const refusedFacts = (workspaceId: string, keyIds: readonly string[]): readonly Fact[] => {
  const minute = `${new Date().toISOString().slice(0, 16)}:00.000Z`
  const counts = keyIds.map((keyId, place) => ({
    ...{ minute, workspaceId, keyId, code: 'rate_limit_exceeded', count: 1_200 + place },
  }))
  const keyless = { minute, workspaceId: null, keyId: null, code: 'invalid_api_key', count: 7 }
  return [{ type: 'RefusalsCounted', data: { counts: [...counts, keyless] } }]
}

export const failedFacts = (workspaceId: string, keyId: string, requestId: string): readonly Fact[] => [
  routed(requestId, { workspaceId, keyId }),
  failed(requestId, { workspaceId, keyId }),
]
