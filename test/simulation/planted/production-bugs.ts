import { bug, type PlantedBug } from './planted-bug.ts'

/** Invented from what billing systems are known to get wrong in production. */
export const productionBugs: readonly PlantedBug[] = [
  bug(
    'what was spent of a credit lapses, too',
    'domain/wallet/evolve.ts',
    '  wallet.chargesPicos += amountPicos\n  wallet.grants = spendGrants(wallet.grants, amountPicos)',
    '  wallet.chargesPicos += amountPicos',
  ),
  bug(
    'credit that lapses last is spent first',
    'domain/wallet/grants.ts',
    'one.expiresAtMs - other.expiresAtMs ||',
    'other.expiresAtMs - one.expiresAtMs ||',
  ),
  bug(
    'credits that lapse are noticed only at a start',
    'roles/scheduler/due-wallets.ts',
    'if (wallet !== undefined) this.#expect(',
    'if (wallet === undefined) this.#expect(',
  ),
  bug(
    'a rotated key works on after its grace',
    'roles/scheduler/deadline-index.ts',
    "type === 'KeyIssued' || type === 'KeyExpirySet' ?",
    "type === 'KeyIssued' ?",
  ),
  bug(
    'a changed credit limit is not applied to the wallet',
    'domain/ledger/ledger.ts',
    '  applyCreditLimit(findOrCreateWallet(ledger, event.data.workspaceId), ledger.accounts)',
    "  if (event.type === 'WorkspaceOpened') applyCreditLimit(findOrCreateWallet(ledger, event.data.workspaceId), ledger.accounts)",
    'credit-limit-is-lowered.json',
  ),
  bug(
    'the worst case of a request leaves its output out',
    'domain/pricing/worst-case.ts',
    'return beforePicos + BigInt(capped) * rates.output',
    'return beforePicos + BigInt(capped) * (rates.output - rates.output)',
  ),
  bug(
    'a video holds half of its worst case',
    'roles/edge/surfaces/tasks/draft-task.ts',
    'amountPicos: unitsPicosRoundingHalfUp(unitsMax, plan.sheet.unit_price),',
    'amountPicos: unitsPicosRoundingHalfUp(unitsMax, plan.sheet.unit_price) / 2n,',
  ),
  bug(
    'late verdicts are awaited for half of their time',
    'roles/video-poller/poll-event.ts',
    '(task.finishedMs ?? nowMs) + lateVerdictWindowMs - nowMs',
    '(task.finishedMs ?? nowMs) + lateVerdictWindowMs / 2 - nowMs',
    'verdict-comes-after-its-time.json',
  ),
  bug(
    'half of what was not delivered is given back',
    'domain/wallet/undelivered.ts',
    '    amount: total,',
    '    amount: String(Number(total) / 2),',
    'edges-are-cut-off.json',
  ),
  bug(
    'after a busy provider no other one is tried',
    'roles/proxy/candidate-chain.ts',
    'if (this.#unserved.at(-1)?.failure.refusal !== undefined) return null',
    'if (this.#unserved.at(-1)?.failure.status === 429) return null',
  ),
  bug(
    'videos are left out of the usage of their day',
    'projections/usage/project.ts',
    "else if (event.type === 'TaskSettled' && task?.status === 'SUCCESS') addTaskToDay",
    "else if (event.type === 'TaskSettled' && task?.status === 'FAILURE') addTaskToDay",
  ),
  bug(
    'the last frame in the tables is written again after a start',
    'roles/projector/batch-accumulator.ts',
    'if (frame.sequence > this.#fromSequence) this.add',
    'if (frame.sequence >= this.#fromSequence) this.add',
  ),
]
