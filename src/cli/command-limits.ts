/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const cliLimits = {
  // Audit
  publishedCheckpointsBytesMax: 64 * 1024 * 1024, // A file of published checkpoints: those of 200,000 segments.
  publicKeyBytesMax: 4_096,
  proofBytesMax: 64 * 1024 * 1024, // A frame and a few dozen hashes.

  // Reconciliation
  reconcileShownMax: 50, // Findings of a kind that are shown to people; `--json` has them all.
  typedEstimatesMax: 3n, // Of a video's estimate, by units that are typed; beyond that, as of a vendor, they may be a mistake.
  correctionsAskedMax: 100_000, // Kept in memory, some 100 MB, until the question is answered; `--yes` keeps none.
  correctionsPerPost: 256, // Below frameEventsMax.

  // Findings
  findingsPerKindMax: 1_000, // Listed of a kind.

  // Projector
  outputChunkCharacters: 64 * 1024, // Written at once.

  // Watching
  observePort: 9464, // Where exporters of OpenTelemetry serve Prometheus, too.
  faultCausesMax: 6, // Shown in a line of our log.

  // Processes
  signalEchoMs: 1_000, // npm passes on the Ctrl-C that the terminal has sent to all: within this time it is the same one, and no second.
  parentPollMs: 250, // Between two looks whether npx has ended; a stop takes longer anyhow.
  shutdownMs: 60_000, // For everything to stop; then the process exits, and its successor finds the rest in the log.

  // Providers
  configReadMs: 500, // Between two readings of its files: a removed admin token is refused within a second.
  configRetryReads: 20, // A file that it names may appear; until then the same mistakes are not parsed again.

  // Doctor
  diskAppends: 200,
  diskAppendBytes: 4_096, // A small frame.
  diskMs: 3_000, // For all of them, on a slow disk.
  diskSlowMs: 10, // Every request waits for an append: beyond this it is felt.
  diskFreeBytesMin: 1024 * 1024 * 1024, // A few hundred thousand requests.
  silenceMsMax: 30_000, // Of a connection to nats-server: each call to a proxy that vanished is 503 after 5 s.

  // Backup
  backupTries: 10,
  backupRetryMs: 500, // A seal comes every second.

  // Supervision
  workersMax: 64, // Each has a ledger of its own in memory.
  observeMs: 3_000, // Longer than a process waits for the servers at a scrape.
  steadyMs: 10_000, // A process that lived so long was able to work: its successor starts at once.
  restartDelayMs: 500, // Before the third start in a row that was needed sooner than that; then twice as long each time.
  restartDelayMsMax: 30_000,
  killLateMs: 5_000, // After the time in which a process exits by itself, on a busy machine too.
  endedWritersMax: 1_000, // Kept for a background process that is being replaced itself.
} as const
