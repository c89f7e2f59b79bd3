/** Bounds that several folders share, each with its unit in the name and its reason beside it. */
export const sharedLimits = {
  // Requests
  jsonMembersMax: 100_000, // Members and elements, at any depth: each is validated, copied and written anew while all other requests wait.
  jsonDepthMax: 128, // No real request nests deeper; a serialiser's stack must not overflow.
  shownNameCharactersMax: 100, // Of a name of the caller's that a message shows: it may have megabytes.
  headersTimeoutMs: 10_000, // A slow-loris client sends no headers.
  requestBodyTimeoutMs: 60_000, // 20 MB over a poor line.
  requestDeadlineMs: 600_000, // The default of the official SDKs.
  connectionsMax: 10_000,
  connectionsPerAddressMax: 10_000, // As many as there may be: a load balancer is one address. The configuration may say less.
  headersBytesMax: 16 * 1024, // Of all, with the request line: Node's own bound, whatever it was started with.
  slowClientsCheckMs: 1_000, // How late a header or body time-out may be noticed.

  // Calls of built-in tools that one request is reserved for, where its caller sets no `max_tool_calls`; more is a line beyond the reservation.
  webSearchesMax: 16, // Agents that research make about a dozen.

  // Upstream
  upstreamRetryAfterSecondsMax: 3_600,
  upstreamMessageCharactersMax: 2_000, // Of an upstream's error message that is passed on.

  // The log
  routedAckMs: 5_000, // RequestRouted unacknowledged for so long: the request gets 503.
  closingAckMs: 10_000, // UsageRecorded unacknowledged for so long: the client gets an error, the frame is retried.
  logStalledMs: 2_000, // An unacknowledged frame, or an acknowledged one not back through the tail, for so long: 503.
  natsRequestMs: 2_000, // Questions about the stream, which the server answers from memory.

  // Work queues
  queueLeaseMs: 30_000, // What a dead taker held goes on after it: an election of 9 s and one lost renewal must not end a living one's.

  // Idempotency keys
  outcomeWriteMs: 5_000, // A claim that is not acknowledged for so long: the request gets 503. An outcome has closingAckMs, as its bill has.

  // Audit
  verifyUnsealedMs: 60_000, // A frame that no checkpoint seals for so long is not proven; sealers are done within seconds.
  verifyFindingsMax: 200, // Shown; of the rest the number is told.

  // Reconciliation
  reconcileGraceMs: 60_000, // After a deadline, for whoever ends what has passed it.

  // Projector
  projectionBatchEventsMax: 20_000, // With fewer the fold waits for the commit, with more for the memory's collection.
  tablesPollMs: 25, // Between looks at the checkpoint, for whoever does.
  projectionStandbyMs: 2_000, // A checkpoint that stands for so long, several full batches, while the log goes on has lost its projector.
  projectionLagMs: 5_000, // Tables that are further behind are told of.
  pageRowsMax: 1_000, // Of one answer of a read model.

  // Watching
  probeMs: 1_000, // How late it is noticed that the log or the database is away.
  probeSilentMs: 3_000, // A question without an answer for so long: it is away.
  warningRepeatMs: 60_000, // Between two lines of the same trouble.

  // Processes
  startMs: 30_000, // For each embedded server to answer.
  withdrawMs: 0, // Between a stopping edge's 503 at /readyz and its last new connection: none, unless a load balancer looks there.
  stopMs: 15_000, // For requests in flight at shutdown, and then for what they cost to be recorded.
  lastAnswerMs: 2_000, // For what a stopping edge or proxy broke off to be counted, and for the error to reach its caller.
  embeddedPollMs: 20, // Between two looks at a server that starts or stops.

  // Video vendors
  vendorCallsPerSecond: 10, // Of one process, where the configuration does not say: accounts allow some 20.

  // Video poller
  callbacksMax: 64, // At once, in one process; a slow receiver takes one place for callbackMs.
} as const
