export const logLimits = {
  walletCommandsMax: 256, // Decided together; each makes one event of less than 1 KB, and a frame holds 512 KB.
  walletConflictsMax: 64, // Each means that another writer made progress on the same wallet.

  clockSkewMaxMs: 5_000, // From the log server's clock; NTP keeps it below 100 ms. Deadlines are written by one process and judged by another.
  clockSkewEndsMs: 4_000, // Less than the bound, so that a clock that drifts about it is not reported again and again.

  endUserKeyMs: 10_000, // How long after it was erased a key may still be used, against a read for each request.
  endUserKeysMax: 10_000, // Of workspaces, in the memory of a process: 200 bytes each.

  lagSamplesMax: 3_600, // Ends of the log that a follower has not reached, an hour of them.
} as const
