export const schedulerLimits = {
  sealTickMs: 100,
  sealEveryMs: 600, // With a tick and the append: a checkpoint at least every second under load.
  sealStandbyMs: 2_000, // A sealer that receives another one's checkpoints waits for so much longer.
  sealLeavesMax: 4_096, // Their hashes take 180 KB of a frame.
  sealSliceBytesMax: 1024 * 1024, // A few milliseconds of hashing; then it yields to the rest of the process.
  sealFaultMs: 60_000, // Between two errors about a log that is not sealed any further.
  expiryTickMs: 250,
  clockJumpMs: 1_000, // A wall clock that is ahead by more was set; a late tick of a busy process delays both clocks alike.
  clockSettleMs: 1_800_000, // Longer than an allowance of the default request deadline lives; a dead edge's money is back so much later.
  schedulerStopMs: 2_000, // For an append under way; one that takes longer waits for a log that is away.
  sealStateRetryMs: 1_000, // Between two tries to read what was signed last.
  snapshotEveryMs: 600_000, // What a start replays at most, in time,
  snapshotEventsMax: 500_000, // and in events: some seconds of folding.
  snapshotSliceEventsMax: 500, // A few milliseconds of folding; then it yields to the rest of the process.
  snapshotStopMs: 5_000, // For the last snapshot: one of a large ledger that takes longer is left out.
  witnessTickMs: 100,
  witnessTriesMax: 3, // A witness names its size once; another scheduler may be faster once.
  alertTickMs: 5_000,
  alertsRaisedAtOnceMax: 16, // Workspaces whose alerts are stored at once.
  alertSendMs: 10_000, // Of one try.
  mailsAtOnceMax: 8, // Connections to the mail server, half of them for one address.
  alertRetryMs: 10_000, // After the first, doubled with each further one,
  alertRetryMaxMs: 300_000, // up to this.
  alertTakeoverMs: 30_000, // Before a scheduler sends what another one has raised: that may be sending it.
} as const
