/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const pollerLimits = {
  // Work queues
  queueRenewMs: 10_000, // How often a taker renews its leases.

  // Video poller
  openTasksMax: 20_000, // Of one process: 4 KB each, late verdicts that are waited for included.
  taskLeaseTickMs: 1_000, // How late a lease that is due for renewal may be renewed.
  taskHoldWaitMs: 300_000, // A hold is placed within seconds of its payload, or by an edge that was paused; a payload without one is dropped then.
  taskDoubtMs: 75_000, // After a submit that may have been sent: its time-out is over, here and at the vendor, before anybody asks what became of it.
  taskPollMs: 5_000, // The vendor's own advice is 5 to 10 s.
  taskPollMaxMs: 30_000, // Of a task that has taken minutes.
  taskPollAgeDivisor: 10, // A task is asked for whenever it is a tenth older: 5 s at first, 30 s after five minutes.
  taskMissingMs: 300_000, // A submitted task that the vendor does not know for so long is told of.
  taskRetryMs: 2_000,
  taskRetryMaxMs: 60_000,
  taskRetryAfterMaxMs: 600_000, // A vendor that asks for more is asked again all the same.
  lateVerdictWindowMs: 86_400_000, // A vendor's word on a task whose hold has ended is waited for so long.
  latePollMs: 60_000,
  latePollMaxMs: 1_800_000,
  vendorCallsMax: 128, // In flight, for each account, besides submits.
  vendorSubmitsMax: 16, // In flight, for each account: each holds a request of up to 20 MB.
  vendorSubmitsInRowMax: 3, // Then a poll that waits has its turn.
  vendorCallsLateMs: 50, // A timer that fires late costs an account no calls, up to here.
  vendorWarningRepeatMs: 60_000, // Between two lines that tell of the same account's trouble.
  payloadReadsMax: 8, // At once; each may have 20 MB.
  callbackMs: 15_000, // One attempt.
  callbackTriesMax: 5, // Over about an hour, with the two that follow.
  callbackRetryMs: 40_000,
  callbackRetryFactor: 4,
  callbackRefusedTriesMax: 2, // Of an address that may not be called: its name may have pointed elsewhere for a moment.
} as const
