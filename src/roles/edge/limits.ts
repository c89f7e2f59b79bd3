/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const edgeLimits = {
  // Requests
  requestBodyBytesMax: 20 * 1024 * 1024, // Images and audio travel inline; OpenAI's own bound is 20 MB an image.
  unfundedBodyBytesMax: 256 * 1024, // Of a workspace whose money is spent: room for what is free, and for repeats of what was paid.
  discardsMax: 64, // Connections on which an answered request goes on sending its body; beyond, the one that waited longest is ended.
  discardPiecesMax: 4, // In one turn, of all of these, 64 KB each: with the next line 25 MB/s, some 5 % of a core.
  discardTurnMs: 10,
  formPartsMax: 256, // Of a video's form: the native format has some thirty members, and lists of a few items.
  clientStallMs: 60_000, // A client that reads nothing for so long is gone.
  keepAliveCommentMs: 15_000, // Proxies on the way drop connections that are idle for longer.
  openRequestsMax: 4_096, // Of one edge: a stream takes some 100 KB of it.
  workspaceOpenRequestsMax: 2_048, // Of one edge: one workspace leaves room for others.
  headersCountMax: 100,
  pipelinedRequestsMax: 16, // Of one connection that are not answered; no SDK sends a second one before its first is answered.
  idleConnectionMs: 65_000, // Load balancers reuse a connection for 60 s; it must not close under their hand.
  imageTokensMax: 50_000, // Some small models count one image as tens of thousands of tokens.
  audioBytesPerTokenMin: 64, // Of base64. Audio models make 10 tokens of a second, and poor MP3 has 1 KB a second.
  audioTokensMin: 100, // The shortest clip.

  // Allowances
  allowanceMarginMs: 5_000, // Of a slice's deadline beyond its last request's end: hosts' clocks differ, and a count takes its time.
  allowanceIdleMs: 2_000, // A slice unused for so long goes back.
  allowanceSpendWindowMs: 1_000, // A slice is about what was spent in this time.
  allowanceDrainMs: 1_000, // A slice that should go back gets so long before requests are admitted against it again.
  allowanceSinglesMax: 256, // Slices of one request each, in a nearly empty wallet: they may all end in one frame, and a wallet is copied to decide.
  admissionWaitMs: 5_000, // A request waits so long for money that requests in flight still hold.
  admissionWaitersMax: 10_000,
  allowanceSweepMs: 250,
  allowanceReturnMs: 5_000, // For a stopping edge's slices to go back; the log takes them within milliseconds, or is away.
  outputTokensFloor: 16, // A cap below this answers nothing of use: 402 instead.

  // Administration
  adminChangeMs: 10_000, // For a change to be stored and applied; an import of hundreds of prices is some frames.

  // Rates
  rateLeaseMs: 1_000, // Units that an edge leased and did not spend go back; the burst of a limit leaves room for so much.
  rateLeaseAheadMs: 250, // An edge leases for so long ahead: a busy one asks four times a second.
  rateLeaseDivisor: 40, // No lease is above 2.5 % of a limit: what lies unused somewhere stays below the 5 % that may.
  rateCacheMs: 100, // A refusal rests on what was read or written so recently; a storm of them costs ten questions a second.
  rateWaitMs: 2_000, // What cannot be learnt by then is refused with 503: the log is away too.
  rateSweepMs: 250, // How late unused leases go back, and tokens that were used are told.
  rateIdleMs: 10_000, // A limit that nobody asks for is forgotten by the edge.
  rateOpenMs: 30_000, // After a request's deadline, for its end to come back through the log.
  rateOutputsWeight: 1 / 8, // Of the last answer in the mean that the next request is expected to have.
  rateBytesPerToken: 4, // Of a request, until its provider has counted.
  rateReturnMs: 1_000, // For a stopping edge's leases to go back; they lapse anyway.
  slotLeaseMs: 15_000, // An edge that died gives its places back after it; an election of 9 s must not take a living one's.
  slotRenewMs: 5_000,
  slotSpareDivisor: 40, // An edge keeps up to 2.5 % of a limit that it used a moment ago: a busy one need not write for every request.
  slotPatienceMs: 100, // A place that is given back at another edge meanwhile is taken.
  slotPauseMs: 25,
  deliveriesMax: 20_000, // Requests in flight, and lost ones whose end is awaited.

  // Idempotency keys
  idempotencyKeyCharactersMax: 255, // As others have it; a UUID has 36.
  outcomeBytesMax: 512 * 1024, // Of one, in one message: nats-server's default max_payload is 1 MB. Text has a tenth of that; images are more.
  outcomeHeadBytesMax: 4 * 1024, // Of that, for status and headers: a model's name may be long.
  outcomeRetryMs: 250, // Before a key is let go once more, whose store was away.
  outcomeLeaseMs: 20_000, // What a dead edge had claimed is taken over after so long; most requests end before they renew.
  outcomeRenewMs: 10_000, // Before the lease ends it is renewed: a lost renewal must not end a living one's.
  outcomeRetryAfterSecondsMax: 10, // Whoever repeats a request that runs waits for as long as that has run, up to here.
  outcomeRacesMax: 8, // Each means that another request with the key made progress.

  // Tasks
  resultRefreshMs: 3_000, // For a vendor to sign a result anew; then the poll is answered with the URL as it was.
  resultRefreshRetryMs: 10_000, // A vendor that did not is left alone with the task for so long.
  refreshedResultsMax: 1_000, // Tasks whose URLs were signed anew: 1 KB each, 130 KB at the very worst.

  // Projector
  pageRows: 100, // Where the caller names no number.
  explainMs: 5_000, // For the log to give the frames of one charge.
  explainsAtOnceMax: 4, // At one edge; each asks the log for a consumer. The others wait.

  // Dashboard
  runwayDays: 7, // Of what was spent: a week has its weekend.
  findingsPerKind: 100, // A person looks at them; a house in order has none.
  healthMs: 2_000, // For the log to be asked where it ends.
  healthFreshMs: 1_000, // For which the age of what the tables lack is told again: to learn it takes a consumer of the log.
  tailsMax: 100, // Live tails of one edge: each is told of every event of its workspace.
  tailsOfOneMax: 20, // Of them, those of one workspace: it leaves room for others.
  tailTextCharactersMax: 200, // Of one member of an event that a tail tells.
  dashboardFileBytesMax: 512 * 1024, // All are held in memory.

  // Watching
  requestLineWaitMs: 1_000, // A request's line waits so long for its charge to be in the ledger.
  requestLineSweepMs: 250,
} as const
