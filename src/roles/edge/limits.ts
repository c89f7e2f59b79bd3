/** Each bound has its unit in its name and its reason beside it. */
export const edgeLimits = {
  // Requests
  requestBodyBytesMax: 20 * 1024 * 1024, // Images and audio travel inline; OpenAI's own bound is 20 MB an image.
  unfundedBodyBytesMax: 256 * 1024, // Of a workspace without credit: room for free requests, and for repeats of paid ones.
  discardPiecesMax: 4, // In one turn, of all of these, 64 KB each: with the next line 25 MB/s, some 5 % of a core.
  discardTurnMs: 10,
  formPartsMax: 256, // Of a video's form: the native format has some thirty members, and lists of a few items.
  clientStallMs: 60_000, // A client that reads nothing for this long is gone.
  keepAliveCommentMs: 15_000, // Proxies on the way drop connections that are idle for longer.
  openRequestsMax: 4_096, // Per edge: a stream takes some 100 KB of it.
  workspaceOpenRequestsMax: 2_048, // Per edge: one workspace must leave room for others.
  headersCountMax: 100,
  pipelinedRequestsMax: 16, // Unanswered requests of one connection; no SDK sends a second one before its first is answered.
  idleConnectionMs: 65_000, // Load balancers reuse a connection for 60 s; it must not be closed while they do.
  imageTokensMax: 50_000, // Some small models count one image as tens of thousands of tokens.
  audioBytesPerTokenMin: 64, // Of base64. Audio models make 10 tokens of a second, and poor MP3 has 1 KB a second.
  audioTokensMin: 100, // The shortest clip.

  // Allowances
  allowanceMarginMs: 5_000, // Of a slice's deadline beyond its last request's end: hosts' clocks differ, and a token count takes time.
  allowanceIdleMs: 2_000, // A slice unused for this long is returned.
  allowanceSpendWindowMs: 1_000, // A slice is about what was spent in this time.
  allowanceDrainMs: 1_000, // How long a slice due for return drains before requests are admitted against it again.
  allowanceSinglesMax: 256, // Slices of one request each, in a nearly empty wallet: they may all end in one frame, and each decision copies the wallet.
  admissionWaitMs: 5_000, // How long a request waits for money that requests in flight still hold.
  admissionWaitersMax: 10_000,
  allowanceSweepMs: 250,
  allowanceReturnMs: 5_000, // For a stopping edge's slices to be returned; the log accepts them within milliseconds, or is away.
  outputTokensFloor: 16, // A lower cap gives no useful answer: 402 instead.

  // Administration
  adminChangeMs: 10_000, // For a change to be stored and applied; an import of hundreds of prices is some frames.

  // Rates
  rateLeaseMs: 1_000, // Units that an edge leased and did not spend are returned after this; the burst of a limit has room for them.
  rateLeaseAheadMs: 250, // How far ahead an edge leases: a busy one asks four times a second.
  rateLeaseDivisor: 40, // No lease is above 2.5 % of a limit: what is unused at other edges stays below the 5 % allowed.
  rateCacheMs: 100, // A refusal relies on a record read or written this recently; a storm of refusals costs ten reads a second.
  rateWaitMs: 2_000, // What is not known by then is refused with 503: the log is away too.
  rateSweepMs: 250, // How late unused leases are returned, and used tokens are recorded.
  rateIdleMs: 10_000, // An edge drops a limit that is unused for this long.
  rateOpenMs: 30_000, // After a request's deadline, for its end to come back through the log.
  rateOutputsWeight: 1 / 8, // Weight of the last answer in the mean that is expected of the next one.
  rateBytesPerToken: 4, // Of a request, until its provider has reported its usage.
  rateReturnMs: 1_000, // For a stopping edge's leases to be returned; they lapse anyway.
  slotLeaseMs: 15_000, // The slots of an edge that died are freed after this; an election of 9 s must not free a living one's.
  slotRenewMs: 5_000,
  slotSpareDivisor: 40, // An edge keeps up to 2.5 % of a limit that it used a moment ago: a busy one need not write for every request.
  slotPatienceMs: 100, // A slot that another edge releases within this time is taken.
  slotPauseMs: 25,
  deliveriesMax: 20_000, // Requests in flight, and undelivered ones whose end is awaited.

  // Idempotency keys
  idempotencyKeyCharactersMax: 255, // As in other APIs; a UUID has 36.
  outcomeBytesMax: 512 * 1024, // Of one, in one message: nats-server's default max_payload is 1 MB. Text has a tenth of that; images are more.
  outcomeHeadBytesMax: 4 * 1024, // Of that, for status and headers: a model's name may be long.
  outcomeRetryMs: 250, // Between attempts to release a key while the store is away.
  outcomeLeaseMs: 20_000, // The claim of an edge that died is taken over after this; most requests end before they renew.
  outcomeRenewMs: 10_000, // How long before the end of the lease it is renewed: a lost renewal must not end a living one's.
  outcomeRetryAfterSecondsMax: 10, // A repeat of a running request is asked to wait for as long as that has run, up to this.
  outcomeRacesMax: 8, // Each means that another request with the key made progress.

  // Tasks
  resultRefreshMs: 3_000, // For a vendor to re-sign a result; then the poll is answered with the URL as stored.
  resultRefreshRetryMs: 10_000, // How long a vendor is not asked again for a task after it failed to re-sign.
  refreshedResultsMax: 1_000, // Tasks with re-signed URLs: 1 KB each, 130 KB at the very worst.

  // Projector
  pageRows: 100, // Where the caller gives no limit.
  explainMs: 5_000, // For the log to return the frames of one charge.
  explainsAtOnceMax: 4, // Per edge; each creates a consumer of the log. The others wait.

  // Dashboard
  runwayDays: 7, // Of spending: a week includes its weekend.
  findingsPerKind: 100, // A person reads them; a healthy ledger has none.
  healthMs: 2_000, // For the log to return its last sequence.
  healthFreshMs: 1_000, // How long the computed age of missing frames is reused: computing it takes a consumer of the log.
  tailsMax: 100, // Live tails of one edge: each receives every event of its workspace.
  tailsOfOneMax: 20, // Of them, those of one workspace: it must leave room for others.
  tailTextCharactersMax: 200, // Of one member of an event in a live tail.
  dashboardFileBytesMax: 512 * 1024, // All are held in memory.

  // Watching
  requestLineWaitMs: 1_000, // How long the request line waits for its charge to be in the ledger.
  requestLineSweepMs: 250,
} as const
