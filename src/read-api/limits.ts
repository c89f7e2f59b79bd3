export const readLimits = {
  // Charges
  explainMs: 5_000, // For the log to return the frames of one charge.
  awaitTablesMs: 2_000, // For the tables to reach what the client has seen; the projector is mostly done within some 100 ms.
  positionKeyMs: 250, // For the first frame, which the key of positions is made of, once a process; then an answer has no position.
  explainsAtOnceMax: 4, // Per edge; each creates a consumer of the log. Half are for one workspace; the others wait.

  // Dashboard
  runwayDays: 7, // Of spending: a week includes its weekend.
  outcomesDaysMax: 31, // Of outcomes by hour in one answer.
  findingsPerKind: 100, // A person reads them; a healthy ledger has none.
  healthMs: 2_000, // For the log to return its last sequence.
  healthFreshMs: 1_000, // How long the computed age of missing frames is reused: computing it takes a consumer of the log.
  tailsMax: 80, // Live tails of workspaces at one edge: each receives every event of its workspace.
  tailsOfOneMax: 20, // Of them, those of one workspace: it must leave room for others.
  tailsOfAdministratorsMax: 20, // Beside them: an operator can look while workspaces have all of theirs.
  tailShareWaitMs: 10_000, // A workspace that was refused is expected back for so long: pages reconnect within seconds.
  tailTextCharactersMax: 200, // Of one member of an event in a live tail.
  dashboardFileBytesMax: 512 * 1024, // All are held in memory.
} as const
