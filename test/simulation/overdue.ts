import type { Ledger } from '../../src/domain/ledger/ledger.ts'
import { expirablePicos } from '../../src/domain/wallet/wallet.ts'

/** What time has ended, and nothing in the log, in words for a message. */
export const findOverdue = ({ accounts, wallets }: Ledger, nowMs: number): readonly string[] => [
  ...[...accounts.keysBySha256.values()].flatMap(({ keyId, expiresAtMs }) =>
    expiresAtMs !== null && expiresAtMs <= nowMs ? [`key ${keyId} has expired, and is not revoked`] : [],
  ),
  ...[...wallets.values()].flatMap((wallet) => {
    const { workspaceId, subscription, grants } = wallet
    const lapsed = grants.filter(
      ({ reference, expiresAtMs }) => expiresAtMs <= nowMs && expirablePicos(wallet, reference) > 0n,
    )
    return [
      ...lapsed.map(({ reference }) => `credit ${reference} of ${workspaceId} has lapsed, and is left`),
      ...(subscription !== null && subscription.expiresAtMs <= nowMs
        ? [`the period of ${subscription.subscriptionId} is over, and it neither ends nor begins anew`]
        : []),
    ]
  }),
]
