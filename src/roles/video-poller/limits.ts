export const pollerLimits = {
  // Work queues
  queueRenewMs: 10_000, // How often a consumer renews its leases.

  // Video poller
  openTasksMax: 20_000, // Of one process: 4 KB each, tasks that wait for late verdicts included.
  taskLeaseTickMs: 1_000, // How late a lease that is due for renewal may be renewed.
  taskHoldWaitMs: 300_000, // From when a poller has its payload. A hold is placed within seconds of it, or by an edge that was paused; then it is dropped.
  taskDoubtMs: 75_000, // After a submit that may have been sent: by then it has timed out on both sides.
  taskPollMs: 5_000, // The vendor's own advice is 5 to 10 s.
  taskPollMaxMs: 30_000, // Of a task that has taken minutes.
  taskPollAgeDivisor: 10, // A task is polled whenever it is a tenth older: 5 s at first, 30 s after five minutes.
  taskMissingMs: 300_000, // A submitted task that the vendor does not know for so long is reported.
  taskRetryMs: 2_000,
  taskRetryMaxMs: 60_000,
  taskRetryAfterMaxMs: 600_000, // A vendor that names a longer delay is called again all the same.
  lateVerdictWindowMs: 86_400_000, // A vendor's verdict on a task whose hold has ended is awaited for so long.
  latePollMs: 60_000,
  latePollMaxMs: 1_800_000,
  vendorCallsMax: 128, // In flight, for each account, besides submits.
  vendorSubmitsMax: 16, // In flight, for each account: each holds a request of up to 20 MB.
  vendorSubmitsInRowMax: 3, // Then a waiting poll has its turn.
  vendorCallsLateMs: 50, // How much lateness of a timer is made up for, so that it costs an account no calls.
  vendorWarningRepeatMs: 60_000, // Between two warnings about the same account.
  payloadReadsMax: 8, // At once, half of them for one workspace; each may have 20 MB.
  callbacksHeldMax: 1_000, // In one process, those that wait for their turn included: half of what all may hold.
  callbackMs: 15_000, // One attempt.
  callbackTriesMax: 5, // Over about an hour, with the two that follow.
  callbackRetryMs: 40_000,
  callbackRetryFactor: 4,
  callbackRefusedTriesMax: 2, // Of an address that may not be called: its name may have pointed elsewhere for a moment.
} as const
