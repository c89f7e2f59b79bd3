import { deriveVerifier } from '../../audit/note.ts'
import type { SealFault } from '../../audit/seal.ts'
import type { Key } from '../../domain/accounts/accounts.ts'
import type { Hold } from '../../domain/wallet/wallet.ts'
import type { LogOf } from '../../log/event-log.ts'
import { type LedgerTail, waitForLogEnd } from '../../log/ledger-tail.ts'
import type { RawFrames } from '../../log/raw-frames.ts'
import { WalletCommandHandler } from '../../log/wallet-command-handler.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Checks } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'
import { ThrottledWarning } from '../../runtime/throttled-warning.ts'
import { waitAtMost } from '../../runtime/within.ts'
import { manifests } from '../manifests.ts'
import type { WatchedRole } from '../role.ts'
import { defineRole, type RunningRole } from '../role.ts'
import { Alerter } from './alerter.ts'
import { Cosigner, type CosignerParts } from './cosigner.ts'
import { allowancesOwnedBy, expiredHolds, expiringKeys } from './deadline-index.ts'
import { type DueWallet, DueWallets } from './due-wallets.ts'
import { schedulerLimits } from './limits.ts'
import { type SealerParts, startSealer } from './sealer.ts'
import { SettledClock } from './settled-clock.ts'
import { SnapshotWriter, type SnapshotWriterParts } from './snapshot-writer.ts'

type Expiring = 'HoldReleased' | 'KeyRevoked' | 'CreditExpired' | 'PlanRenewed' | 'PlanEnded'
type Alerting = 'AlertRaised' | 'AlertDelivered' | 'AlertDeliveryFailed'

interface SealingParts extends Pick<SealerParts, 'signer' | 'previous' | 'heads' | 'firstSeal'> {
  readonly cosigning?: Pick<CosignerParts, 'witnesses' | 'everyMs'>
}

/** Calls back with each writer of the log whose process has ended; returns the function that stops it. */
type EndedWriters = (onEnded: (writer: string) => void) => () => void

export interface SchedulerParts {
  readonly log: LogOf<Expiring | Alerting | 'CheckpointSealed' | 'CheckpointCosigned'> & RawFrames
  readonly tail: LedgerTail
  readonly sealing: SealingParts | null
  readonly snapshots?: Pick<SnapshotWriterParts, 'store' | 'openLedger' | 'everyMs'>
  /** Absent: no alerts are raised. */
  readonly alerting?: Pick<ConstructorParameters<typeof Alerter>[0], 'destinations' | 'http' | 'sendMail' | 'tickMs'>
  readonly requestDeadlineMs: number
  /** The allowances of such a writer are released at once; without it at the deadline. */
  readonly endedWriters?: EndedWriters | undefined
  readonly clock: Clock
  /** While it is not, nothing that a deadline ends is ended: what lapsed early does not come back. Default: always. */
  readonly isClockTrusted?: () => boolean
  /** Never jumps; default: the process's own. */
  readonly steadyClock?: Clock
  readonly logger: Logger
}

/** What a process appended last is in the log: once the ledger has that, none of its charges follows. */
const watchEndedWriters = (parts: SchedulerParts, release: (hold: Hold) => Promise<void>) => {
  const ended = new Set<string>()
  const unlisten = parts.endedWriters?.((writer) => ended.add(writer))
  return {
    release: async (): Promise<void> => {
      if (ended.size === 0) return
      await waitForLogEnd(parts, () => new Error('the ledger is behind the log'))
      for (const writer of [...ended]) {
        await Promise.all(allowancesOwnedBy(parts.tail.ledger, writer).map(release))
        ended.delete(writer)
      }
    },
    stop: () => unlisten?.(),
  }
}

const startExpiry = (parts: SchedulerParts): RunningRole => {
  const { log, tail, requestDeadlineMs, clock, steadyClock, isClockTrusted = () => true, logger } = parts
  const settleMs = Math.max(schedulerLimits.clockSettleMs, 3 * requestDeadlineMs)
  const ends: Pick<LogOf<Expiring>, 'appendToWallet'> = log
  const writer = new WalletCommandHandler(ends, tail)
  const overdue = expiredHolds(tail)
  const expiring = expiringKeys(tail)
  const due = new DueWallets(tail)
  const settled = new SettledClock(clock, settleMs, steadyClock)
  const warning = new ThrottledWarning(logger)
  let ending: Promise<void> = Promise.resolve()
  let busy = false
  const releaseAs =
    (code: 'hold.expired' | 'hold.owner_ended') =>
    async ({ workspaceId, holdId }: Hold): Promise<void> => {
      await writer.execute(workspaceId, { type: 'ReleaseHold', holdId, reason: 'expired' })
      logger.log(code, { workspaceId, holdId })
    }
  const ended = watchEndedWriters(parts, releaseAs('hold.owner_ended'))

  const revoke = async ({ workspaceId, keyId }: Key, nowMs: number): Promise<void> => {
    await writer.executeAccount(workspaceId, { type: 'ExpireKey', keyId, nowMs })
    logger.log('key.expired', { workspaceId, keyId })
  }

  /** In order: credits lapse before the next fee is taken. */
  const carryOut = async ({ workspaceId, commands }: DueWallet): Promise<void> => {
    const outcomes = await Promise.all(commands.map((command) => writer.execute(workspaceId, command)))
    for (const outcome of outcomes)
      if ('facts' in outcome)
        for (const { type } of outcome.facts) logger.log('wallet.expiry_applied', { workspaceId, type })
  }

  const endAt = (nowMs: number): readonly Promise<void>[] => [
    ...overdue.at(nowMs).map(releaseAs('hold.expired')),
    ...expiring.at(nowMs).map((key) => revoke(key, nowMs)),
    ...due.at(nowMs).map(carryOut),
  ]

  const endOverdue = async (): Promise<void> => {
    busy = true
    try {
      const nowMs = settled.nowMs()
      await Promise.all([...(isClockTrusted() ? endAt(nowMs) : []), ended.release()])
      warning.clear('scheduler.available', {})
    } catch (fault) {
      warning.raise('scheduler.unavailable', { fault })
    } finally {
      busy = false
    }
  }

  const timer = setInterval(() => {
    if (!busy) ending = endOverdue()
  }, schedulerLimits.expiryTickMs)

  return {
    stop: async () => {
      clearInterval(timer)
      ended.stop()
      overdue.stop()
      due.stop()
      expiring.stop()
      await waitAtMost(ending, schedulerLimits.schedulerStopMs)
    },
  }
}

const startSnapshots = ({ log, snapshots, clock, logger }: SchedulerParts): SnapshotWriter | undefined =>
  snapshots === undefined ? undefined : new SnapshotWriter({ ...snapshots, log, clock, logger })

interface RunningScheduler extends WatchedRole {
  /** What it does not recover from by itself. */
  aliveChecks(): Checks
}

const startSealing = (parts: SchedulerParts, { cosigning, ...sealing }: SealingParts): RunningScheduler => {
  const { log, clock, logger, tail } = parts
  const verifiers = [deriveVerifier(sealing.signer), ...sealing.previous]
  const onAhead = (fault: SealFault): void => sealer.fail(fault)
  const cosigner =
    cosigning === undefined ? undefined : new Cosigner({ log, verifiers, ...cosigning, clock, logger, onAhead })
  const snapshots = startSnapshots(parts)
  const sealer = startSealer({ ...parts, ...sealing, sealed: tail.ledger.sealed, snapshots, observer: cosigner })
  return {
    checks: () => ({ sealing: sealer.checks().ready }),
    aliveChecks: () => ({ sealing: sealer.checks().alive }),
    stop: async () => {
      await snapshots?.stop()
      await sealer.stop()
      await cosigner?.stop()
    },
  }
}

const startAlerts = ({ log, tail, alerting, clock, logger }: SchedulerParts): RunningRole | null => {
  const alerts: Pick<LogOf<Alerting>, 'appendToWallet'> = log
  if (alerting === undefined) return null
  return new Alerter({ ...alerting, tail, writer: new WalletCommandHandler(alerts, tail), clock, logger })
}

const start = async (parts: SchedulerParts): Promise<RunningScheduler> => {
  const { sealing } = parts
  const alerts = startAlerts(parts)
  const expiry = startExpiry(parts)
  const running = sealing === null ? null : startSealing(parts, sealing)
  return {
    checks: () => running?.checks() ?? {},
    aliveChecks: () => running?.aliveChecks() ?? {},
    stop: async () => {
      await alerts?.stop()
      await expiry.stop() // Its last frames are in the last snapshot, and sealed too.
      await running?.stop()
    },
  }
}

export const scheduler = defineRole({ name: 'scheduler', emits: manifests.scheduler, start })
