import type { RawFrames } from '../../audit/frames.ts'
import type { Hold } from '../../domain/wallet/wallet.ts'
import { limits } from '../../limits.ts'
import { atMost } from '../../within.ts'
import type { LedgerTail } from '../ledger-tail.ts'
import { manifests } from '../manifests.ts'
import { type Clock, defineRole, type Logger, type LogOf, type RunningRole } from '../role.ts'
import { Trouble } from '../trouble.ts'
import { WalletWriter } from '../wallet-writer.ts'
import { OverdueHolds } from './overdue-holds.ts'
import { type SealerParts, startSealer } from './sealer.ts'

export interface SchedulerParts {
  readonly log: LogOf<'HoldReleased' | 'CheckpointSealed'> & RawFrames
  readonly tail: LedgerTail
  /** Null: this process seals nothing. */
  readonly sealing: Pick<SealerParts, 'signer' | 'previous'> | null
  readonly clock: Clock
  readonly logger: Logger
}

/** A hold past its deadline is released. */
const startExpiry = ({ log, tail, clock, logger }: SchedulerParts): RunningRole => {
  const holds: Pick<LogOf<'HoldReleased'>, 'appendToWallet'> = log
  const writer = new WalletWriter(holds, tail)
  const overdue = new OverdueHolds(tail)
  const trouble = new Trouble(logger)
  let expiring: Promise<void> = Promise.resolve()
  let busy = false

  const release = async ({ workspaceId, holdId }: Hold): Promise<void> => {
    await writer.execute(workspaceId, { type: 'ReleaseHold', holdId, reason: 'expired' })
    logger.info({ workspaceId, holdId }, 'a hold past its deadline was released')
  }

  const expire = async (): Promise<void> => {
    busy = true
    try {
      await Promise.all(overdue.at(clock()).map(release))
      trouble.ends({}, 'overdue holds are released again')
    } catch (fault) {
      trouble.comes({ fault }, 'an overdue hold was not released; it is tried again')
    } finally {
      busy = false
    }
  }

  const timer = setInterval(() => {
    if (!busy) expiring = expire()
  }, limits.expiryTickMs)

  return {
    stop: async () => {
      clearInterval(timer)
      overdue.stop()
      await atMost(expiring, limits.schedulerStopMs)
    },
  }
}

/** Whatever time causes: holds past their deadline are released, what is new in the log is sealed. */
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
