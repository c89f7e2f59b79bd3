import type { RawFrames } from '../../audit/frames.ts'
import type { Key } from '../../domain/accounts/accounts.ts'
import type { Hold } from '../../domain/wallet/wallet.ts'
import { limits } from '../../limits.ts'
import { atMost } from '../../within.ts'
import type { LedgerTail } from '../ledger-tail.ts'
import { manifests } from '../manifests.ts'
import { type Clock, defineRole, type Logger, type LogOf, type RunningRole } from '../role.ts'
import { WalletWriter } from '../wallet-writer.ts'
import { ExpiringKeys } from './expiring-keys.ts'
import { OverdueHolds } from './overdue-holds.ts'
import { type SealerParts, startSealer } from './sealer.ts'

export interface SchedulerParts {
  readonly log: LogOf<'HoldReleased' | 'KeyRevoked' | 'CheckpointSealed'> & RawFrames
  readonly tail: LedgerTail
  /** Null: this process seals nothing. */
  readonly sealing: Pick<SealerParts, 'signer' | 'previous'> | null
  readonly clock: Clock
  readonly logger: Logger
}

/** A hold past its deadline is released, a key past its expiry revoked. */
const startExpiry = ({ log, tail, clock, logger }: SchedulerParts): RunningRole => {
  const ends: Pick<LogOf<'HoldReleased' | 'KeyRevoked'>, 'appendToWallet'> = log
  const writer = new WalletWriter(ends, tail)
  const overdue = new OverdueHolds(tail)
  const expiring = new ExpiringKeys(tail)
  let ending: Promise<void> = Promise.resolve()
  let busy = false

  const release = async ({ workspaceId, holdId }: Hold): Promise<void> => {
    await writer.execute(workspaceId, { type: 'ReleaseHold', holdId, reason: 'expired' })
    logger.info({ workspaceId, holdId }, 'a hold past its deadline was released')
  }

  const revoke = async ({ workspaceId, keyId }: Key): Promise<void> => {
    await writer.executeAccount(workspaceId, { type: 'ExpireKey', keyId, nowMs: clock() })
    logger.info({ workspaceId, keyId }, 'a key past its expiry was revoked')
  }

  const endOverdue = async (): Promise<void> => {
    busy = true
    try {
      await Promise.all([...overdue.at(clock()).map(release), ...expiring.at(clock()).map(revoke)])
    } catch (fault) {
      logger.warn({ fault }, 'what is overdue was not ended; it is tried again')
    } finally {
      busy = false
    }
  }

  const timer = setInterval(() => {
    if (!busy) ending = endOverdue()
  }, limits.expiryTickMs)

  return {
    stop: async () => {
      clearInterval(timer)
      overdue.stop()
      expiring.stop()
      await atMost(ending, limits.schedulerStopMs)
    },
  }
}

/** Whatever time causes: holds past their deadline are released, keys past their expiry revoked, what is new in the log is sealed. */
const start = async (parts: SchedulerParts): Promise<RunningRole> => {
  const { sealing, tail } = parts
  const expiry = startExpiry(parts)
  const sealer = sealing === null ? null : startSealer({ ...parts, ...sealing, sealed: tail.ledger.sealed })
  return {
    stop: async () => {
      await Promise.all([expiry.stop(), sealer?.stop()])
    },
  }
}

export const scheduler = defineRole({ name: 'scheduler', emits: manifests.scheduler, start })
