import type { Hold } from '../../domain/wallet/wallet.ts'
import { limits } from '../../limits.ts'
import type { LedgerTail } from '../ledger-tail.ts'
import { type Clock, defineRole, type Logger, type LogOf, type RunningRole } from '../role.ts'
import { WalletWriter } from '../wallet-writer.ts'
import { OverdueHolds } from './overdue-holds.ts'

export interface SchedulerParts {
  readonly log: LogOf<'HoldReleased'>
  readonly tail: LedgerTail
  readonly clock: Clock
  readonly logger: Logger
}

/** Whatever time causes: a hold past its deadline is released. */
const start = async ({ log, tail, clock, logger }: SchedulerParts): Promise<RunningRole> => {
  const writer = new WalletWriter(log, tail)
  const overdue = new OverdueHolds(tail)
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
    } catch (fault) {
      logger.warn({ fault }, 'an overdue hold was not released; it is tried again')
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
      await expiring
    },
  }
}

export const scheduler = defineRole({ name: 'scheduler', emits: ['HoldReleased'], start })
