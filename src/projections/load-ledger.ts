import { setSubscription } from '../domain/accounts/accounts.ts'
import {
  initialLedger,
  type Ledger,
  restoreLedgerKeys,
  restoreLedgerLimits,
  walletInLedger,
} from '../domain/ledger/ledger.ts'
import { parseUsd } from '../domain/money.ts'
import { publishPrice } from '../domain/pricing/price-book.ts'
import type { Grant } from '../domain/wallet/grants.ts'
import { keyFromRow, limitsSetFromRow, workspaceFromRow } from './accounts.ts'
import { parsePicos } from './columns.ts'
import { subscriptionFromRow } from './plans.ts'
import { findLastSeal } from './seals.ts'
import { restoredText } from './stored-text.ts'
import type { ReadModels, Snapshot } from './tables.ts'
import { taskFromRow } from './tasks.ts'
import type { StoredGrant } from './wallet.table.ts'
import { keySpendingFromRow } from './wallet.ts'

export interface LedgerSnapshot {
  readonly ledger: Ledger
  /** Null if no frame was applied yet. */
  readonly firstFrame: string | null
}

/**
 * Reads the whole ledger state in one repeatable-read transaction: following the log from `ledger.sequence + 1` then
 * gives what replaying it from 1 gives.
 */
export const loadLedger = (db: ReadModels): Promise<LedgerSnapshot> =>
  db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(readSnapshot)

const readSnapshot = async (trx: Snapshot): Promise<LedgerSnapshot> => {
  // First: a swap of rebuilt tables waits for transactions that have read the checkpoint, so names mean the same tables
  // until the end.
  const checkpoint = await trx.selectFrom('checkpoint').selectAll().executeTakeFirstOrThrow()
  const ledger = initialLedger()
  ledger.sequence = Number(checkpoint.sequence)
  await loadWriters(trx, ledger)
  await loadAccounts(trx, ledger)
  await loadPrices(trx, ledger)
  await loadRouting(trx, ledger)
  await loadWallets(trx, ledger)
  await loadPlans(trx, ledger)
  await loadOpenRequests(trx, ledger)
  await loadSealed(trx, ledger)
  await loadOpenTasks(trx, ledger)
  return { ledger, firstFrame: checkpoint.first_frame }
}

const loadWriters = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const { writer, low, above } of await trx.selectFrom('writers').selectAll().execute())
    ledger.writers.set(writer, { low: Number(low), above: new Set(above.map(Number)) })
}

const loadAccounts = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const row of await trx.selectFrom('workspaces').selectAll().execute())
    ledger.accounts.workspaces.set(row.workspace_id, workspaceFromRow(row))
  const keys = await trx.selectFrom('keys').selectAll().orderBy('key_id').execute()
  restoreLedgerKeys(ledger, keys.map(keyFromRow))
  for (const row of await trx.selectFrom('limits').selectAll().execute())
    restoreLedgerLimits(ledger, limitsSetFromRow(row))
}

const loadPrices = async (trx: Snapshot, { prices }: Ledger): Promise<void> => {
  const rows = await trx.selectFrom('prices').select('published').orderBy('sequence').orderBy('event_index').execute()
  for (const { published } of rows) publishPrice(prices, published)
}

const loadRouting = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  const aliases = await trx.selectFrom('aliases').selectAll().orderBy('alias').execute()
  const routers = await trx.selectFrom('routers').selectAll().orderBy('router').execute()
  ledger.routing = {
    aliases: new Map(
      aliases.flatMap(({ alias, model }) => (model === null ? [] : [[restoredText(alias), restoredText(model)]])),
    ),
    routers: new Map(
      routers.flatMap(({ router, candidates, candidate_order: order }) =>
        candidates === null ? [] : [[router, { candidates, order }]],
      ),
    ),
  }
}

const grantOf = ({ reference, remaining, expiresAt }: StoredGrant): Grant => ({
  reference,
  remainingPicos: parseUsd(remaining),
  expiresAtMs: Date.parse(expiresAt),
})

const loadWallets = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const row of await trx.selectFrom('wallets').selectAll().execute()) {
    const wallet = walletInLedger(ledger, row.workspace_id)
    wallet.creditsPicos = parsePicos(row.credits)
    wallet.chargesPicos = parsePicos(row.charges)
    wallet.feesPicos = parsePicos(row.fees)
    wallet.adjustmentsPicos = parsePicos(row.adjustments)
    wallet.lapsedPicos = parsePicos(row.lapsed)
    wallet.grants = row.grants.map(grantOf)
    wallet.heldPicos = parsePicos(row.held)
    wallet.creditLimitPicos = parsePicos(row.credit_limit)
    wallet.subjectSequence = Number(row.subject_sequence)
  }
  await loadHolds(trx, ledger)
  await loadSpendings(trx, ledger)
  await loadReferences(trx, ledger)
  await loadExternalTasks(trx, ledger)
}

const loadPlans = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const { plan_id, published } of await trx.selectFrom('plans').selectAll().execute())
    ledger.accounts.plans.set(plan_id, published)
  for (const row of await trx.selectFrom('subscriptions').selectAll().execute()) {
    const subscription = subscriptionFromRow(row)
    setSubscription(ledger.accounts, row.workspace_id, subscription)
    walletInLedger(ledger, row.workspace_id).subscription = subscription
  }
}

const loadHolds = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const row of await trx.selectFrom('holds').selectAll().execute())
    walletInLedger(ledger, row.workspace_id).holds.set(row.hold_id, {
      holdId: row.hold_id,
      workspaceId: row.workspace_id,
      purpose: row.purpose,
      owner: restoredText(row.owner),
      amountPicos: parsePicos(row.amount),
      remainingPicos: parsePicos(row.remaining),
      deadlineMs: row.deadline.getTime(),
      spender: row.key_id === null ? null : { keyId: row.key_id, day: row.day ?? '' },
    })
}

const loadSpendings = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const row of await trx.selectFrom('key_spending').selectAll().execute())
    walletInLedger(ledger, row.workspace_id).spendings.set(row.key_id, keySpendingFromRow(row))
}

const loadReferences = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const row of await trx.selectFrom('wallet_references').selectAll().execute())
    walletInLedger(ledger, row.workspace_id).references.set(restoredText(row.reference), parsePicos(row.amount))
}

const loadExternalTasks = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const row of await trx.selectFrom('external_tasks').selectAll().execute())
    walletInLedger(ledger, row.workspace_id).externalTasks.set(restoredText(row.external_task_id), {
      taskId: row.task_id,
      requestDigest: row.request_digest,
    })
}

const loadOpenRequests = async (trx: Snapshot, { openRequests }: Ledger): Promise<void> => {
  for (const { request_id, routed, closing, sequence } of await trx.selectFrom('open_requests').selectAll().execute())
    openRequests.set(request_id, { routed, closing, sequence: Number(sequence) })
}

const loadSealed = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  const seal = await findLastSeal(trx)
  if (seal !== undefined) ledger.sealed = { size: seal.size, sequence: seal.sequence }
}

const loadOpenTasks = async (trx: Snapshot, { tasks }: Ledger): Promise<void> => {
  for (const row of await trx.selectFrom('tasks').selectAll().where('finished_at', 'is', null).execute())
    tasks.set(row.task_id, taskFromRow(row))
}
