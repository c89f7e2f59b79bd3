import { bug, type PlantedBug } from './planted-bug.ts'

/** The fold, and decisions. */
export const ledgerBugs: readonly PlantedBug[] = [
  // The fold.
  bug(
    'a frame that is stored twice is applied twice',
    'domain/ledger/frame-window.ts',
    'if (counter <= window.low || window.above.has(counter)) return false',
    'if (counter < 0) return false',
  ),
  bug(
    'the window of frames is off by one',
    'domain/ledger/frame-window.ts',
    'counter <= window.low',
    'counter < window.low',
  ),
  bug(
    'a second end of a request counts too',
    'domain/ledger/requests.ts',
    'open.delete(requestId)',
    'if (closing === null) open.delete(requestId)',
  ),
  bug(
    'a request that failed is charged',
    'domain/ledger/ledger.ts',
    "if (closing.type === 'RequestFailed') return []",
    "if (closing.type === 'RequestFailed') closing.data.attempts",
  ),
  bug(
    'a hold ends and its money stays held',
    'domain/wallet/evolve.ts',
    '  wallet.heldPicos -= hold.remainingPicos\n  count(',
    '  count(',
  ),
  bug('an ended hold stays open', 'domain/wallet/evolve.ts', 'wallet.holds.delete(holdId)', 'wallet.holds.get(holdId)'),
  bug(
    'a charge is not drawn from its hold',
    'domain/wallet/evolve.ts',
    'hold.remainingPicos -= drawnPicos\n  wallet.heldPicos -= drawnPicos',
    'wallet.heldPicos -= 0n',
  ),
  bug(
    'what exceeds the reservation is not charged',
    'domain/wallet/evolve.ts',
    'const excessPicos = maxOf(0n, totalPicos - reservedPicos)',
    'const excessPicos = minOf(0n, maxOf(0n, totalPicos - reservedPicos))',
  ),
  bug(
    'a refund is applied again',
    'domain/wallet/evolve.ts',
    'const key = adjustmentKey(adjustmentId)\n  if (wallet.references.has(key)) return []',
    'const key = adjustmentKey(adjustmentId)',
  ),
  bug(
    'a credit is applied again',
    'domain/wallet/evolve.ts',
    'const key = creditKey(reference)\n  if (wallet.references.has(key)) return []',
    'const key = creditKey(reference)',
  ),
  bug(
    'the fee of a plan is not taken',
    'domain/wallet/evolve.ts',
    'wallet.feesPicos += feePicos',
    'wallet.feesPicos += 0n',
  ),
  bug(
    'lapsed credit stays in the balance',
    'domain/wallet/evolve.ts',
    'wallet.lapsedPicos += lapsedPicos',
    'wallet.lapsedPicos += 0n',
  ),

  // Decisions.
  bug(
    'held money counts as available',
    'domain/wallet/wallet.ts',
    'balancePicos(wallet) + wallet.creditLimitPicos - wallet.heldPicos',
    'balancePicos(wallet) + wallet.creditLimitPicos',
  ),
  bug(
    'an allowance is placed that the wallet does not cover',
    'domain/wallet/decide.ts',
    'if (spendable < minimumPicos || amountPicos <= 0n) return',
    'if (amountPicos <= 0n) return',
  ),
  bug(
    'a released hold is released again',
    'domain/wallet/decide.ts',
    'if (!wallet.holds.has(command.holdId)) return { facts: [] }',
    'if (command.holdId === "") return { facts: [] }',
  ),
  bug(
    'a repeated credit is recorded again and counted again',
    'domain/wallet/decide.ts',
    'if (creditedPicos === amountPicos) return { facts: [] }',
    'if (creditedPicos === amountPicos) return { facts: [{ type: "WalletCredited", data: { workspaceId: wallet.workspaceId, amount: formatUsd(amountPicos), reference: `${reference}-again`, note } }] }',
  ),
  bug(
    'credit that is held lapses',
    'domain/wallet/wallet.ts',
    'maxOf(0n, minOf(unheldPicos(wallet.grants, reference, wallet.heldPicos), availablePicos(wallet)))',
    'unheldPicos(wallet.grants, reference, 0n)',
  ),
  bug(
    'a subscription is begun again',
    'domain/wallet/decide-plan.ts',
    'if (wallet.references.has(subscriptionKey(subscriptionId)) || (isSamePlan && !again)) return { facts: [] }',
    'if (isSamePlan && !again) return { facts: [] }',
  ),
  bug(
    'quantities are off by one',
    'domain/pricing/charge.ts',
    'const amountPicos = BigInt(quantity) * picos',
    'const amountPicos = BigInt(quantity - 1) * picos',
  ),
  bug(
    'output is priced as input',
    'domain/pricing/charge.ts',
    "(rates) => rates.output,\n  ],\n  ['reasoning'",
    "(rates) => rates.input,\n  ],\n  ['reasoning'",
  ),
  bug(
    'the total leaves a line out',
    'domain/pricing/charge.ts',
    'totalPicos: priced.reduce(',
    'totalPicos: priced.slice(1).reduce(',
  ),
]
