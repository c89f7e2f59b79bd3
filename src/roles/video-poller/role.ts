import type { LogOf } from '../../log/event-log.ts'
import type { LedgerTail } from '../../log/ledger-tail.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { noObserver, type Observer } from '../../runtime/observer.ts'
import { manifests } from '../manifests.ts'
import type { RecentTasks } from '../recent-tasks.ts'
import type { WatchedRole } from '../role.ts'
import { defineRole } from '../role.ts'
import type { WorkQueue } from '../work-queue.ts'
import { type PollerBounds, pollerBoundsWith } from './bounds.ts'
import { CallbackSender, type Webhooks } from './callback-sender.ts'
import type { PaceRandom } from './pace.ts'
import { Poller } from './poller.ts'
import type { PollerEvent } from './task-records.ts'
import type { VideoVendorAccount } from './vendor-account.ts'

export interface VideoPollerParts {
  readonly log: LogOf<PollerEvent>
  readonly tail: LedgerTail
  readonly recentTasks: Pick<RecentTasks, 'find'>
  readonly tasks: WorkQueue
  readonly callbacks: WorkQueue
  readonly vendors: ReadonlyMap<string, VideoVendorAccount>
  /** Null where no callbacks are sent. */
  readonly webhooks: Webhooks | null
  readonly clock: Clock
  readonly logger: Logger
  readonly observer?: Observer
  readonly bounds?: Partial<PollerBounds>
  readonly random?: PaceRandom
  /** Milliseconds that never jump: leases, back-off and pace are kept by it. */
  readonly steadyMs?: () => number
}

const start = async ({
  random = Math.random,
  steadyMs = () => performance.now(),
  observer = noObserver,
  ...parts
}: VideoPollerParts): Promise<WatchedRole> => {
  const { webhooks, callbacks } = parts
  const each = { ...parts, bounds: pollerBoundsWith(parts.bounds), random, steadyMs, observer }
  const sender = webhooks === null ? null : new CallbackSender({ ...each, webhooks })
  const poller = new Poller({ ...each, callbacks: webhooks === null ? null : callbacks })
  return {
    checks: () => ({ tasks: poller.check, ...(sender === null ? {} : { callbacks: sender.check }) }),
    stop: async () => {
      await Promise.all([poller.stop(), sender?.stop()])
    },
  }
}

export const videoPoller = defineRole({
  name: 'video-poller',
  emits: manifests['video-poller'],
  start,
})
