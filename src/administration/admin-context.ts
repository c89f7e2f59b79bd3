import type { AccountCommand, AccountRefusal } from '../domain/accounts/decide.ts'
import type { PeriodFact } from '../domain/ledger/periods.ts'
import { type ErrorCode, GatewayError } from '../errors/gateway-error.ts'
import type { FactOf } from '../events/envelope.ts'
import type { LogOf } from '../log/event-log.ts'
import type { LedgerTail } from '../log/ledger-tail.ts'
import { type AccountOutcome, WalletCommandHandler, type WalletEventType } from '../log/wallet-command-handler.ts'
import { administrationLimits } from './limits.ts'

/** Facts that belong to no workspace: the last one counts, so they need no order of their own. */
type GlobalFact = FactOf<
  'PricePublished' | 'PlanPublished' | 'AliasSet' | 'RouterSet' | 'InvoiceIssued' | PeriodFact['type']
>

type AskedFor = Exclude<
  WalletEventType,
  'CreditExpired' | 'PlanRenewed' | 'AlertRaised' | 'AlertDelivered' | 'AlertDeliveryFailed'
>

export interface AdminContext {
  readonly log: Pick<LogOf<GlobalFact['type'] | AskedFor>, 'append' | 'appendToWallet'>
  readonly tail: LedgerTail
  /** Of this process; absent: a new one. */
  readonly writer?: WalletCommandHandler
  /** Such as `admin:ana`; absent where unknown. */
  readonly actor?: string
}

export const walletHandlerOf = ({ log, tail, writer }: AdminContext): WalletCommandHandler => {
  const wallets: Pick<LogOf<AskedFor>, 'appendToWallet'> = log
  return writer ?? new WalletCommandHandler(wallets, tail)
}

const refusals: { readonly [R in AccountRefusal]: { readonly code: ErrorCode; readonly message: string } } = {
  workspace_unknown: { code: 'not_found', message: 'There is no such workspace.' },
  workspace_differs: { code: 'conflict', message: 'The workspace exists with another name or credit limit.' },
  workspace_closed: { code: 'conflict', message: 'The workspace is closed: only adjustments can be posted to it.' },
  key_unknown: { code: 'not_found', message: 'There is no such key.' },
  key_name_taken: {
    code: 'conflict',
    message: 'The workspace has a working key of this name; its secret was shown once and cannot be shown again.',
  },
  key_revoked: { code: 'conflict', message: 'The key was revoked.' },
  key_replaced: { code: 'conflict', message: 'The key was rotated before: another one has its name.' },
}

export const accountRefusal = (refused: AccountRefusal): GatewayError => {
  const { code, message } = refusals[refused]
  return new GatewayError(code, message)
}

/** Throws `not_found`. */
export const requireWorkspace = ({ tail }: Pick<AdminContext, 'tail'>, workspaceId: string): void => {
  if (!tail.ledger.accounts.workspaces.has(workspaceId)) throw accountRefusal('workspace_unknown')
}

/** Throws `not_found`, or `conflict` for a closed one. */
export const requireOpenWorkspace = (context: Pick<AdminContext, 'tail'>, workspaceId: string): void => {
  requireWorkspace(context, workspaceId)
  if (context.tail.ledger.accounts.workspaces.get(workspaceId)?.status === 'closed')
    throw accountRefusal('workspace_closed')
}

export const executeAccountCommand = async (
  context: AdminContext,
  workspaceId: string,
  command: AccountCommand,
): Promise<Extract<AccountOutcome, { facts: unknown }>> => {
  const outcome = await walletHandlerOf(context).executeAccount(workspaceId, command, context.actor)
  if ('refused' in outcome) throw accountRefusal(outcome.refused)
  return outcome
}

/** Resolves when the facts are stored, in their order, and applied. */
export const appendGlobalFacts = async (
  { log, tail, actor }: AdminContext,
  facts: readonly GlobalFact[],
): Promise<void> => {
  const attributed = actor === undefined ? facts : facts.map((fact) => ({ ...fact, actor }))
  for (let start = 0; start < attributed.length; start += administrationLimits.globalFactsPerFrame) {
    const { sequence } = await log.append(attributed.slice(start, start + administrationLimits.globalFactsPerFrame))
    await tail.waitForSequence(sequence)
  }
}
