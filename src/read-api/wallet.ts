import { dayMs, utcDayAt } from '../domain/instant.ts'
import { findOrCreateWallet, type Ledger } from '../domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../domain/money.ts'
import type { Subscription } from '../domain/plans/subscription.ts'
import { estimateRunway } from '../domain/wallet/runway.ts'
import { type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { readQuery } from '../http/query.ts'
import type { BalanceSnapshot, WalletFigures } from '../projections/wallets/queries.ts'
import type { Clock } from '../runtime/clock.ts'
import { readLimits } from './limits.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'
import type { LedgerWalletResponse } from './responses.types.ts'

export interface WalletParts {
  readonly readModels: EdgeReadModels
  readonly tail: { readonly ledger: Ledger }
  readonly clock: Clock
}

/** For a workspace that was opened a moment ago. */
const nothingYet = (ledger: Ledger, workspaceId: string): WalletFigures => ({
  workspaceId,
  creditsPicos: 0n,
  chargedPicos: 0n,
  feesPicos: 0n,
  adjustmentsPicos: 0n,
  lapsedPicos: 0n,
  balancePicos: 0n,
  heldPicos: 0n,
  creditLimitPicos: findOrCreateWallet(ledger, workspaceId).creditLimitPicos,
  availablePicos: findOrCreateWallet(ledger, workspaceId).creditLimitPicos,
})

const planOf = (subscription: Subscription | null): LedgerWalletResponse['plan'] => {
  if (subscription === null) return null
  const { terms, expiresAtMs, renews } = subscription
  const { planId: id, name, period, price } = terms
  return {
    id,
    name,
    period,
    price: formatUsd(parseUsd(price)),
    expires_at: new Date(expiresAtMs).toISOString(),
    renews,
  }
}

/** The pace is that since the first of the last few days on which anything was spent. */
const toRunwayResponse = (
  days: BalanceSnapshot['days'],
  { availablePicos }: WalletFigures,
  from: string,
  nowMs: number,
): LedgerWalletResponse['runway'] => {
  const sinceMs = Date.parse(days[0]?.day ?? from)
  const spentPicos = days.reduce((sum, each) => sum + each.spentPicos, 0n)
  const { perDayPicos, untilMs } = estimateRunway({ spentPicos, availablePicos, sinceMs, nowMs })
  return {
    since: new Date(sinceMs).toISOString(),
    spent: formatUsd(spentPicos),
    per_day: formatUsd(perDayPicos),
    until: untilMs === null ? null : new Date(untilMs).toISOString(),
  }
}

export const showWallet =
  ({ readModels, tail, clock }: WalletParts): HttpMiddleware =>
  async (ctx) => {
    readQuery(ctx, {})
    const workspaceId = readableWorkspace(ctx)
    const nowMs = clock()
    const from = utcDayAt(nowMs - (readLimits.runwayDays - 1) * dayMs)
    const found = await readTables(
      ctx,
      readModels.findBalanceSnapshot(workspaceId, { from, daysMax: readLimits.runwayDays + 1 }),
    )
    const wallet = found?.wallet ?? nothingYet(tail.ledger, workspaceId)
    ctx.body = {
      object: 'wallet',
      workspace: { id: workspaceId, name: tail.ledger.accounts.workspaces.get(workspaceId)?.name ?? workspaceId },
      balance: formatUsd(wallet.balancePicos),
      held: formatUsd(wallet.heldPicos),
      available: formatUsd(wallet.availablePicos),
      credit_limit: formatUsd(wallet.creditLimitPicos),
      credits: formatUsd(wallet.creditsPicos),
      charges: formatUsd(wallet.chargedPicos),
      fees: formatUsd(wallet.feesPicos),
      adjustments: formatUsd(wallet.adjustmentsPicos),
      lapsed: formatUsd(wallet.lapsedPicos),
      plan: planOf(findOrCreateWallet(tail.ledger, workspaceId).subscription),
      runway: toRunwayResponse(found?.days ?? [], wallet, from, nowMs),
    } satisfies LedgerWalletResponse
  }
