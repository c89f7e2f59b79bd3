import { decideLimits, type LimitsDecision, type SetLimits } from '../domain/accounts/limits.ts'
import { walletOf } from '../domain/ledger/ledger.ts'
import { GatewayError } from '../errors.ts'
import { limits } from '../limits.ts'
import type { LedgerTail } from './ledger-tail.ts'
import type { LogOf } from './role.ts'

/**
 * Sets limits, in the order of the wallet's holds: one that is decided after it obeys it. Resolves with the facts once they are stored and
 * this process's ledger has applied them (none where they stood already), or with why they were refused.
 */
export const writeLimits = async (
  log: Pick<LogOf<'LimitsSet'>, 'appendToWallet'>,
  tail: LedgerTail,
  command: SetLimits,
): Promise<LimitsDecision> => {
  const { workspaceId } = command
  for (let conflicts = 0; conflicts < limits.walletConflictsMax; conflicts += 1) {
    const decision = decideLimits(command, tail.ledger.accounts)
    if ('refused' in decision || decision.facts.length === 0) return decision
    const { subjectSequence } = walletOf(tail.ledger, workspaceId)
    const appended = await log.appendToWallet(workspaceId, decision.facts, subjectSequence)
    await tail.reached(appended.sequence)
    if (!('conflict' in appended)) return decision
  }
  throw new GatewayError('log_unavailable', 'The wallet is being changed by too many others.', { retryAfterSeconds: 1 })
}
