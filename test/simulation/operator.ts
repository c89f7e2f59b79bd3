import { connectNats } from '../../src/adapters/nats/connect.ts'
import { ensureOutcomes } from '../../src/adapters/nats/outcomes/open.ts'
import { ensureRates } from '../../src/adapters/nats/rates/open.ts'
import { ensureWorkQueues } from '../../src/adapters/nats/work-queue/open.ts'
import { creditWallet, issueKey, openWorkspace } from '../../src/administration/account-changes.ts'
import { executeSetLimits } from '../../src/administration/limits-changes.ts'
import { publishPlan } from '../../src/administration/plan-changes.ts'
import { publishPrices } from '../../src/administration/price-changes.ts'
import { parseUsd } from '../../src/domain/money.ts'
import { pricesWith } from './admin-requests.ts'
import { simBounds } from './bounds.ts'
import type { IssuedKey, SimKeys } from './keys.ts'
import { natsPort } from './nats/server.ts'
import { logName, openSimLog, openSimSnapshots, openSimTail } from './open-log.ts'
import { type CommandAction, workspacesCount } from './plan.ts'
import type { Start } from './start.ts'

/** By commands, before any process of the gateway runs. */
export const openAccounts = async (start: Start, keys: SimKeys): Promise<void> => {
  const { runtime } = start
  const log = await openSimLog(start, 'operator', true)
  const connection = await connectNats({ url: `nats://127.0.0.1:${natsPort}`, role: 'operator', name: 'operator' })
  const options = { ...runtime, connection, name: logName, role: 'operator', replicas: 1 } as const
  const durable = { ...options, durability: 'relaxed', create: true } as const
  await ensureWorkQueues({ ...durable, leaseMs: simBounds.queueLeaseMs })
  await ensureOutcomes(durable)
  await ensureRates(options)
  await openSimSnapshots(start, 'operator', true)
  const context = { log, tail: await openSimTail(start, log, 'operator') }
  await publishPrices(context, pricesWith('100', 0))
  const terms = { period: 'day', includedCredit: '1', limits: {} } as const
  await publishPlan(context, { ...terms, planId: 'pro', name: 'Pro', price: '0.5' })
  await publishPlan(context, { ...terms, planId: 'team', name: 'Team', price: '0.7' })
  for (let index = 0; index < workspacesCount; index += 1) {
    const workspaceId = `workspace-${index}`
    const creditLimitPicos = index === 1 ? parseUsd('2') : 0n
    await openWorkspace(context, { workspaceId, name: workspaceId, creditLimitPicos })
    const amountPicos = parseUsd(['1000', '5', '2', '50'][index]!)
    await creditWallet(context, workspaceId, { amountPicos, reference: 'first', note: '' })
    const first = await issueKey(context, { workspaceId, name: 'first' }, runtime)
    const limited = await issueKey(context, { workspaceId, name: 'limited' }, runtime)
    await executeSetLimits(context, workspaceId, limited.keyId, { spend: { total: '3' } })
    keys.open(first, limited)
  }
}

/** A command in a process of its own, beside those of the gateway: gives credit, and issues a key. */
export const runCommand = async (start: Start, { workspace, usd, reference }: CommandAction): Promise<IssuedKey> => {
  const workspaceId = `workspace-${workspace}`
  const log = await openSimLog(start, 'operator')
  const context = { log, tail: await openSimTail(start, log, 'operator') }
  await creditWallet(context, workspaceId, { amountPicos: parseUsd(usd), reference, note: '' })
  // Of a run that was killed a key may exist, whose secret nobody has.
  return issueKey(context, { workspaceId, name: start.runtime.newId() }, start.runtime)
}
