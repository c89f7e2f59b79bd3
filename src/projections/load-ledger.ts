import { setSubscription } from '../domain/accounts/accounts.ts'
import {
  findOrCreateWallet,
  initialLedger,
  type Ledger,
  restoreLedgerKeys,
  restoreLedgerLimits,
} from '../domain/ledger/ledger.ts'
import { parseUsd } from '../domain/money.ts'
import { publishPrice } from '../domain/pricing/price-book.ts'
import type { Grant } from '../domain/wallet/grants.ts'
import { keyFromRow, limitsSetFromRow, workspaceFromRow } from './accounts/queries.ts'
import { subscriptionFromRow } from './plans/queries.ts'
import { readModels } from './read-models.ts'
import { parsePicos } from './schema/columns.ts'
import type { ReadModel } from './schema/read-model.ts'
import { restoredText } from './schema/stored-text.ts'
import type { ReadModels, Snapshot } from './schema/tables.ts'
import { findLastSeal } from './seals/queries.ts'
import { taskFromRow } from './tasks/queries.ts'
import { canRestoreLedger, type ModelVersions, selectVersions } from './versions.ts'
import { keySpendingFromRow } from './wallets/queries.ts'
import type { StoredGrant } from './wallets/table.ts'

export interface LedgerSnapshot {
  /** At the tables' sequence; at 0, to be replayed, where other versions of the read models made these tables. */
  readonly ledger: Ledger
  /** Of the tables. */
  readonly sequence: number
  /** Null if no frame was applied yet. */
  readonly firstFrame: string | null
  readonly versions: ModelVersions
}

/** In one repeatable-read transaction: following the log from `ledger.sequence + 1` gives what a replay gives. */
export const loadLedger = (db: ReadModels, models: readonly ReadModel[] = readModels): Promise<LedgerSnapshot> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute((trx) => readSnapshot(trx, models))

const readSnapshot = async (trx: Snapshot, models: readonly ReadModel[]): Promise<LedgerSnapshot> => {
  // First: a swap of rebuilt tables waits for readers of the checkpoint, so names keep meaning the same tables.
  const checkpoint = await trx.selectFrom('checkpoint').selectAll().executeTakeFirstOrThrow()
  const [sequence, firstFrame] = [Number(checkpoint.sequence), checkpoint.first_frame]
  const versions = await selectVersions(trx)
  const ledger = initialLedger()
  if (!canRestoreLedger(versions, models)) return { ledger, sequence, firstFrame, versions }
  ledger.sequence = sequence
  await loadWriters(trx, ledger)
  await loadAccounts(trx, ledger)
  await loadPrices(trx, ledger)
  await loadRouting(trx, ledger)
  await loadWallets(trx, ledger)
  await loadPlans(trx, ledger)
  await loadOpenRequests(trx, ledger)
  await loadSealed(trx, ledger)
  await loadOpenTasks(trx, ledger)
  return { ledger, sequence, firstFrame, versions }
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
    const wallet = findOrCreateWallet(ledger, row.workspace_id)
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
    findOrCreateWallet(ledger, row.workspace_id).subscription = subscription
  }
}

const loadHolds = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const row of await trx.selectFrom('holds').selectAll().execute())
    findOrCreateWallet(ledger, row.workspace_id).holds.set(row.hold_id, {
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
    findOrCreateWallet(ledger, row.workspace_id).spendings.set(row.key_id, keySpendingFromRow(row))
}

const loadReferences = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const row of await trx.selectFrom('wallet_references').selectAll().execute())
    findOrCreateWallet(ledger, row.workspace_id).references.set(restoredText(row.reference), parsePicos(row.amount))
}

const loadExternalTasks = async (trx: Snapshot, ledger: Ledger): Promise<void> => {
  for (const row of await trx.selectFrom('external_tasks').selectAll().execute())
    findOrCreateWallet(ledger, row.workspace_id).externalTasks.set(restoredText(row.external_task_id), {
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
