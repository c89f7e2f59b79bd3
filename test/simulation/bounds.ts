/** Shorter than the program's own, so that little simulated time shows what follows a time-out. */
export const simBounds = {
  requestDeadlineMs: 20_000,
  firstByteMs: 4_000,
  wholeAnswerMs: 8_000,
  idleMs: 3_000,
  drainMs: 6_000,
  closingAckMs: 3_000,
  queueLeaseMs: 4_000,
  taskDeadlineMs: 45_000,
  snapshotEveryMs: 6_000,
  // A clock that jumps must not end the lease of a living edge.
  outcomeLeaseMs: 12_000,
  outcomeRenewMs: 6_000,
} as const

/** In the order of the program's own: a submit has timed out on both sides when it is looked up. */
export const vendorTimeouts = { submitMs: 2_000, queryMs: 1_500 } as const
export const pollerBounds = {
  queueLeaseMs: simBounds.queueLeaseMs,
  queueRenewMs: 1_300,
  taskLeaseTickMs: 500,
  taskHoldWaitMs: 30_000,
  taskDoubtMs: 5_000,
  taskPollMs: 1_000,
  taskPollMaxMs: 4_000,
  taskRetryMs: 300,
  taskRetryMaxMs: 4_000,
  latePollMs: 2_000,
  latePollMaxMs: 6_000,
  stopMs: simBounds.drainMs,
} as const
