export const logLimits = {
  walletCommandsMax: 256, // Decided together; each makes one event of less than 1 KB, and a frame holds 512 KB.
  walletConflictsMax: 64, // Each means that another writer made progress on the same wallet.

  lagSamplesMax: 3_600, // Ends of the log that a follower has not reached, an hour of them.
} as const
