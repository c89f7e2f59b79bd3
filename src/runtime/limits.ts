/** Bounds that several folders share, each with its unit in the name and its reason beside it. */
export const sharedLimits = {
  // Requests
  openBytesMax: 512 * 1024 * 1024, // Of the bodies of open requests, in a process: with what is made of them, some 2 GB.
  workspaceOpenBytesMax: 64 * 1024 * 1024, // Of those of one workspace: three bodies of the largest size.
  jsonMembersMax: 100_000, // Members and elements, at any depth: each is validated, copied and serialised while all other requests wait.
  jsonNameCharactersMax: 2_000_000, // Of all names of members: each different one is hashed and kept by the parser.
  jsonOneNameCharactersMax: 16 * 1024, // No API has names of 100; one of megabytes is put together, hashed and kept before it is refused.
  jsonDifferentNamesMax: 20_000, // Of members: no real request has a tenth of it, and 100,000 stop the parser for 80 ms.
  turnBytes: 64 * 1024, // The steps of a larger body run in turns of their own: a burst of them would delay the next request by its whole length.
  largeStepsAheadMs: 4, // Short ones, such as the check of a piece, follow each other in the next turns.
  stepsPerTurn: 16, // Of requests, in one turn of the event loop: each takes some 0.3 ms. Fewer make more turns, and a frame of the log for each.
  stepsTurnMs: 2, // Of the steps of one turn, where several workspaces ask: some take 0.1 ms, and some 2.
  stepsSharedMs: 1_000, // Several ask, where another than before did within this.
  stepBytes: 16 * 1024, // Of the body of a step that counts for two: its tokens are counted in less than 1 ms.
  jsonDepthMax: 128, // No real request nests deeper; a serialiser's stack must not overflow.
  headersTimeoutMs: 10_000, // A slow-loris client sends no headers.
  requestBodyTimeoutMs: 60_000, // 20 MB over a poor line.
  requestDeadlineMs: 600_000, // The default of the official SDKs.
  connectionsMax: 10_000,
  connectionsPerAddressMax: 10_000, // A load balancer is one address. The configuration may set fewer.
  headersBytesMax: 16 * 1024, // Of all, with the request line: Node's own bound, whatever it was started with.
  slowClientsCheckMs: 1_000, // How late a header or body time-out may be noticed.

  // Reserved for a request whose caller sets no `max_tool_calls`; more is a line beyond the reservation.
  webSearchesMax: 16, // Agents that research make about a dozen.

  // Answers
  answerReadMs: 300_000, // For which a client may keep one waiting, in all: 64 MB over a poor line.

  // Upstream
  upstreamRetryAfterSecondsMax: 3_600,
  upstreamMessageCharactersMax: 2_000, // Of an upstream's error message that is passed on.

  // The log
  routedAckMs: 5_000, // RequestRouted unacknowledged for so long: the request gets 503.
  closingAckMs: 10_000, // UsageRecorded unacknowledged for so long: the client gets an error, the frame is retried.
  logStalledMs: 2_000, // An unacknowledged frame, or an acknowledged one not back through the tail, for so long: 503.
  natsRequestMs: 2_000, // Requests about the stream, which the server answers from memory.

  // Work queues
  queueLeaseMs: 30_000, // An election of 9 s and one lost renewal must not end a living consumer's lease.

  // Idempotency keys
  outcomesKeptMs: 86_400_000, // A day, as others keep them: clients retry within minutes, jobs overnight.
  workspaceOutcomeBytesMax: 1024 ** 3, // Of the outcomes of one workspace: a quarter of the store's initial size.
  outcomeWriteMs: 5_000, // A claim that is not acknowledged for so long: the request gets 503. An outcome has closingAckMs, as its bill has.

  // Audit
  verifyUnsealedMs: 60_000, // A frame that no checkpoint seals for so long is not proven; sealers are done within seconds.
  verifyUncosignedMs: 300_000, // A checkpoint that too few witnesses cosign for so long is not proven; they get one a minute.
  verifyFindingsMax: 200, // The rest is only counted.

  // Reconciliation
  reconcileGraceMs: 60_000, // After a deadline, for the process that ends what has passed it.

  // Projector
  projectionBatchEventsMax: 20_000, // With fewer the fold waits for the commit, with more for the garbage collector.
  tablesPollMs: 25, // Between checks of the checkpoint.
  projectionStandbyMs: 2_000, // Several full batches: a checkpoint that rests so long has no projector.
  projectionLagMs: 5_000, // Tables that lag by more are reported.
  pageRowsMax: 1_000, // Of one page of a read model.

  // Watching
  probeMs: 1_000, // How late an outage of the log or the database is noticed.
  probeSilentMs: 3_000, // No answer for so long: it is down.
  warningRepeatMs: 60_000, // Between two warnings of one kind.

  // Processes
  startMs: 30_000, // For each embedded server to answer.
  withdrawMs: 0, // Between 503 at /readyz and the last new connection: for load balancers that poll it.
  stopMs: 15_000, // For requests in flight at shutdown, and then for their charges to be recorded.
  lastAnswerMs: 2_000, // For what a stopping edge or proxy broke off to be counted, and for the error to reach its caller.
  embeddedPollMs: 20, // Between two checks of a server that starts or stops.

  // Video vendors
  vendorCallsPerSecond: 10, // Of one process, where the configuration sets none: accounts allow some 20.

  // Video poller
  callbacksMax: 64, // At once, in one process, half of them for one workspace: a slow receiver takes a place for callbackMs.

  // Telemetry
  telemetryAttributeCharactersMax: 1_024, // A path is its caller's text.
  telemetryExportMs: 10_000, // Of one export of metrics; the next comes soon.
  telemetryLastExportMs: 2_000, // At a stop, for what is not sent yet.
} as const
