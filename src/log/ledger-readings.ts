import type { Ledger } from '../domain/ledger/ledger.ts'
import { formatUsd } from '../domain/money.ts'
import type { TaskStatus } from '../domain/video/task.ts'
import { availablePicos, balancePicos, type HoldPurpose, type Wallet } from '../domain/wallet/wallet.ts'
import type { Reading } from '../runtime/observer.ts'

/** Exact picos are summed over all workspaces; only the metric is a float. */
const usd = (picos: bigint): number => Number(formatUsd(picos))

const moneyStates: Readonly<Record<string, (wallet: Wallet) => bigint>> = {
  credits: ({ creditsPicos }) => creditsPicos,
  charges: ({ chargesPicos }) => chargesPicos,
  fees: ({ feesPicos }) => feesPicos,
  adjustments: ({ adjustmentsPicos }) => adjustmentsPicos,
  lapsed: ({ lapsedPicos }) => lapsedPicos,
  credit_limit: ({ creditLimitPicos }) => creditLimitPicos,
  balance: balancePicos,
  held: ({ heldPicos }) => heldPicos,
  available: availablePicos,
}

const moneyReadings = (wallets: readonly Wallet[]): readonly Reading[] =>
  Object.entries(moneyStates).map(([state, of]) => ({
    name: 'gateway_money_usd',
    labels: { state },
    value: usd(wallets.reduce((sum, wallet) => sum + of(wallet), 0n)),
  }))

const purposes: readonly HoldPurpose[] = ['allowance', 'task']

const holdReadings = (wallets: readonly Wallet[]): readonly Reading[] => {
  const open = { allowance: { count: 0, picos: 0n }, task: { count: 0, picos: 0n } }
  for (const { holds } of wallets)
    for (const { purpose, remainingPicos } of holds.values()) {
      open[purpose].count += 1
      open[purpose].picos += remainingPicos
    }
  return purposes.flatMap((purpose): readonly Reading[] => [
    { name: 'gateway_holds_open', labels: { purpose }, value: open[purpose].count },
    { name: 'gateway_holds_usd', labels: { purpose }, value: usd(open[purpose].picos) },
  ])
}

const openStatuses: readonly TaskStatus[] = ['QUEUED', 'SUBMITTED', 'IN_PROGRESS']

const taskReadings = ({ tasks }: Ledger): readonly Reading[] => {
  const counts = new Map<TaskStatus, number>(openStatuses.map((status) => [status, 0]))
  for (const { status } of tasks.values()) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, value]) => ({ name: 'gateway_tasks_open', labels: { status }, value }))
}

const unfinishedRequests = ({ openRequests }: Ledger): number => {
  let count = 0
  for (const { closing } of openRequests.values()) if (closing === null) count += 1
  return count
}

export const ledgerReadings = (ledger: Ledger): readonly Reading[] => {
  const wallets = [...ledger.wallets.values()]
  return [
    { name: 'gateway_workspaces', value: ledger.accounts.workspaces.size },
    { name: 'gateway_requests_unfinished', value: unfinishedRequests(ledger) },
    { name: 'gateway_log_unsealed_frames', value: ledger.sequence - (ledger.sealed?.size ?? 0) },
    ...moneyReadings(wallets),
    ...holdReadings(wallets),
    ...taskReadings(ledger),
  ]
}
