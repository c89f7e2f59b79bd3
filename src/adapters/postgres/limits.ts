export const postgresLimits = {
  reconcileRowsPerRead: 2_000,
  reconcileStraddleMs: 10_800_000, // Longer than any request may take; only these are checked for a midnight between start and end.
  reconcileUpstreamIdDays: 1, // Before and after an invoice's period, in which its upstream request ids are looked for.
  reconcileClockSkewMs: 5_000, // Between a provider's clock and ours.

  mergeRowsPerStatement: 1_000, // Some 20 ms of making arrays for the widest table; then the event loop turns.
  copyRowsPerChunk: 500, // About 150 KB of text; the event loop turns between chunks.
  rowsTogetherMax: 500, // Of all tables, in one statement: their arrays are made in one turn of the event loop.
  sharedStatementsMax: 32, // Kept by the server for each connection.
  compareRowsPerRead: 1_000,
  compareDifferencesMax: 20, // Rows shown when a rebuilt table differs.

  swapLockMs: 500, // The projector and all readers wait behind a swap that waits for a lock.
  swapRetryMs: 1_000,
  tableLockMs: 1_500, // The same of a migration, and of a swap that has no reader. An autovacuum makes way only after PostgreSQL's `deadlock_timeout`, 1 s by default.

  databaseConnectionsMax: 8,
  databaseReadsMax: 6, // Of them, for what edges read: the projector and the probes have the others. Half are for one workspace.
  databaseConnectMs: 5_000,
  databaseStatementMs: 10_000,
  databaseKeepAliveSeconds: 10, // With databaseKeepAlivesMax: the server drops a client that has been gone for 40 s.
  databaseKeepAlivesMax: 3,
} as const
