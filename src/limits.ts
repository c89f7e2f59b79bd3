/** Every bound of the program, with its unit in the name and its reason beside it. */
export const limits = {
  // Requests
  requestBodyBytesMax: 20 * 1024 * 1024, // Images and audio travel inline; OpenAI's own bound is 20 MB an image.
  unfundedBodyBytesMax: 256 * 1024, // Of a workspace whose money is spent: room for what is free, and for repeats of what was paid.
  discardsMax: 64, // Connections on which an answered request goes on sending its body; beyond, the one that waited longest is ended.
  discardPiecesMax: 4, // In one turn, of all of these, 64 KB each: with the next line 25 MB/s, some 5 % of a core.
  discardTurnMs: 10,
  jsonMembersMax: 100_000, // Members and elements, at any depth: each is validated, copied and written anew while all other requests wait.
  jsonDepthMax: 128, // No real request nests deeper; a serialiser's stack must not overflow.
  formPartsMax: 256, // Of a video's form: the native format has some thirty members, and lists of a few items.
  shownNameCharactersMax: 100, // Of a name of the caller's that a message shows: it may have megabytes.
  headersTimeoutMs: 10_000, // A slow-loris client sends no headers.
  requestBodyTimeoutMs: 60_000, // 20 MB over a poor line.
  requestDeadlineMs: 600_000, // The default of the official SDKs.
  clientStallMs: 60_000, // A client that reads nothing for so long is gone.
  keepAliveCommentMs: 15_000, // Proxies on the way drop connections that are idle for longer.
  connectionsMax: 10_000,
  openRequestsMax: 4_096, // Of one edge: a stream takes some 100 KB of it.
  workspaceOpenRequestsMax: 2_048, // Of one edge: one workspace leaves room for others.
  connectionsPerAddressMax: 10_000, // As many as there may be: a load balancer is one address. The configuration may say less.
  headersBytesMax: 16 * 1024, // Of all, with the request line: Node's own bound, whatever it was started with.
  headersCountMax: 100,
  pipelinedRequestsMax: 16, // Of one connection that are not answered; no SDK sends a second one before its first is answered.
  idleConnectionMs: 65_000, // Load balancers reuse a connection for 60 s; it must not close under their hand.
  slowClientsCheckMs: 1_000, // How late a header or body time-out may be noticed.
  imageTokensMax: 50_000, // Some small models count one image as tens of thousands of tokens.
  audioBytesPerTokenMin: 64, // Of base64. Audio models make 10 tokens of a second, and poor MP3 has 1 KB a second.
  audioTokensMin: 100, // The shortest clip.

  // Calls of built-in tools that one request is reserved for, where its caller sets no `max_tool_calls`; more is a line beyond the reservation.
  webSearchesMax: 16, // Agents that research make about a dozen.
  xSearchesMax: 16, // Of the same kind.
  fileSearchesMax: 16, // Of the same kind, over the caller's own files.
  codeRunsMax: 8, // xAI bills each run; OpenAI bills the container, and a container outlives the request.
  generatedImagesMax: 4, // One is usual; each costs as much as thousands of tokens.
  imageToolPromptTokensMax: 8_000, // Of each image: OpenAI's own bound is 32,000 characters.
  imageToolImagesMax: 16, // That one image is made from: OpenAI's own bound.
  imageToolImageTokensMax: 1_100, // For each of those: 65, and 129 for a tile of 512 pixels, of which a short side of 512 leaves few.
  imageToolFidelityTokensMax: 6_240, // What `input_fidelity: high` adds to each of those, a square apart.

  // Upstream
  upstreamConnectMs: 10_000,
  upstreamFirstByteMs: 120_000, // Of a stream: reasoning models think before the first byte.
  upstreamWholeAnswerMs: 300_000, // Without a stream the first byte comes with the last; another candidate still has as long.
  upstreamIdleMs: 300_000, // Between two pieces of an answer: some models think between the first event and the next, as long as a whole answer takes.
  closingUsageMs: 5_000, // For the usage of a stream whose client has left when all else had come: providers send it behind the last piece, at once.
  upstreamQuestionMs: 30_000, // A count, or an answer that is kept: nothing is generated.
  upstreamBodyBytesMax: 64 * 1024 * 1024, // Generated audio and images come inline.
  upstreamErrorBodyBytesMax: 64 * 1024,
  upstreamConnectionsMax: 8_192, // For each provider: what two full edges have open must not queue here until it times out.
  upstreamKeepAliveMs: 30_000,
  sseEventBytesMax: 16 * 1024 * 1024, // One event may hold one generated image.
  upstreamRetryAfterSecondsMax: 3_600,
  upstreamBufferBytesMax: 256 * 1024, // Read ahead of a slow client; then its upstream is paused.
  upstreamDrainBytesMax: 64 * 1024, // What is left of an answer is read so that the connection can be used again, up to here.
  upstreamDrainMs: 1_000,
  upstreamFailedEventMs: 1_000, // After an error within a stream: its failed response comes with it, or not at all.
  upstreamMessageCharactersMax: 2_000, // Of an upstream's error message that is passed on.
  failedResponseCharactersMax: 64 * 1024, // It goes to an edge with its error, in one message.
  upstreamOutputItemsMax: 4_096, // Of a response: a research answer has hundreds; text of any more is kept with the last.
  upstreamChoicesMax: 128, // OpenAI's own bound of `n`; text of any more is counted with the last.
  replyToolCallsMax: 128, // Of a translated stream: OpenAI's own bound of tools, and that of its SDK.
  replyHeldCharactersMax: 4 * 1024 * 1024, // Of tool calls that are put in order; an answer of text is not held.
  replyCitationsMax: 1_024, // Of a translated stream: an answer with web search has dozens; the rest is dropped.
  deliveredCharactersMax: 4 * 1024 * 1024, // Of a stream's text kept for an estimate; the rest is counted by its length.
  estimateCharactersMax: 256 * 1024, // A tokenizer's time is ours: beyond this the count is extrapolated.
  estimateSliceCharacters: 512, // The tokenizer is quadratic in a run without spaces: 60,000 CJK characters took 13 s.
  estimateYieldCharacters: 16 * 1024, // Other requests get their turn after so many.

  // The log
  frameEventsMax: 512, // 512 events of 1 KB stay well below the server's 1 MB.
  frameBytesMax: 512 * 1024, // nats-server's default max_payload is 1 MB.
  frameHeadersBytesMax: 1_024, // The frame's first line and the message's headers, beside the events.
  framesInFlightMax: 1, // More only grows the tail behind one fsync.
  appendQueueEventsMax: 50_000, // Beyond this an append is refused: memory is bounded when the log is away.
  frameAckMs: 2_000, // Then the frame is sent again with the same id.
  frameRetryMs: 100,
  frameRetryMaxMs: 2_000,
  duplicateWindowMs: 600_000, // Longer than any network trouble that a frame's retries outlive; the fold dedupes for good.
  routedAckMs: 5_000, // RequestRouted unacknowledged for so long: the request gets 503.
  closingAckMs: 10_000, // UsageRecorded unacknowledged for so long: the client gets an error, the frame is retried.
  logStalledMs: 2_000, // An unacknowledged frame, or an acknowledged one not back through the tail, for so long: 503.
  followBufferFramesMax: 2_048,
  recentFramesBytesMax: 4 * 1024 * 1024, // A second of frames at full load, for the followers of the same process.
  followBufferBytesMax: 8 * 1024 * 1024, // Full frames would make the buffer a gigabyte.
  followPullFramesMax: 256, // Asked of the server at once: enough to hide the round trip.
  followPullBytesMax: 8 * 1024 * 1024, // Of that: the server drops a connection that 64 MB wait for, and a process has several followers.
  followPullMs: 30_000, // Then the server ends the request and the next one is sent.
  followHeartbeatMs: 500, // The shortest that keeps a stall below logStalledMs.
  followStallMs: 1_500, // Neither a frame nor a heartbeat for so long: a fresh consumer is made.
  followInactiveMs: 30_000, // The server forgets a dead follower's consumer.
  followLagCheckMs: 1_000, // A consumer whose server lags is left within logStalledMs, or little more.
  followLagFramesMax: 256, // A cluster's server that is further behind has come back; one in step lags by milliseconds.
  followDoublingsMax: 2, // Of frameRetryMs between attempts: an edge whose follower is not back answers 503.
  followShortLogAttemptsMax: 5, // About 3 s for a new leader to apply what it has committed.
  readFramesMax: 1_024, // Of a range that is read, that nobody has taken yet.
  readBytesMax: 8 * 1024 * 1024,
  natsConnectMs: 5_000, // One attempt.
  natsReconnectMs: 250, // A restarted server is found again well within closingAckMs.
  natsPingMs: 5_000, // With natsPingsOutMax: a silent connection is given up after 15 s.
  natsPingsOutMax: 2,
  natsOpenMs: 20_000, // A cluster elects a stream's leader within 4 to 9 s, when two clash once more.
  natsRequestMs: 2_000, // Questions about the stream, which the server answers from memory.
  walletCommandsMax: 256, // Decided together; each makes one event of less than 1 KB, and a frame holds 512 KB.
  walletConflictsMax: 64, // Each means that another writer made progress on the same wallet.

  // Calls between processes
  callsMessageBytesMax: 64 * 1024, // Of packets in one NATS message: far below max_payload; more would only delay what waits behind it.
  callsPieceBytesMax: 32 * 1024, // Calls on one link take turns; two pieces fill a message.
  callsPieceOverheadBytes: 64, // What a piece costs beside its bytes, so that a window of tiny ones is bounded too.
  callsWindowBytes: 128 * 1024, // Of one call, each way, that its reader has not consumed: 10 MB/s at a round trip of 10 ms.
  callsFlightBytesMax: 4 * 1024 * 1024, // Of one link, unacknowledged; the server drops a connection that 64 MB wait for. The rest waits under its calls' windows.
  callsAckBytes: 512 * 1024, // Received and not acknowledged: then the next tick is not awaited.
  callsCallBytesMax: 128 * 1024 * 1024, // An encoded call: a body of 20 MB in which numbers are written out (1e20) grows fivefold.
  callsTickMs: 100, // How late an acknowledgement, a ping or a loss may be.
  callsTickLateMs: 1_000, // Of a late tick that counts as silence: a process that was paused has heard nobody.
  callsPingMs: 1_000, // A peer that is needed and silent for so long is asked.
  callsAbsentPingMs: 500, // So is one that the server cannot find.
  callsIdlePingMs: 30_000, // A peer that nobody needs is forgotten this long after it went.
  callsAbsentMs: 3_000, // A peer whose NATS server died is back on another by then.
  callsSilentMs: 9_000, // After the first ping without an answer: with that, a NATS server has 10 s to be replaced.
  callsAcceptMs: 5_000, // A proxy says at once that it has a call.
  callsEndLateMs: 5_000, // After a call's deadline and closingAckMs: its proxy has ended it by then, or never will.
  callsCloseMs: 2_000, // For the edges to acknowledge a stopping proxy's last words: they do so within a tick.

  // Work queues
  queuePieceBytesMax: 512 * 1024, // Of one message: nats-server's default max_payload is 1 MB, and what is read back is base64.
  queuePiecesMax: 256, // A body of 20 MB in which numbers are written out (1e20) grows fivefold.
  queueDuplicateWindowMs: 60_000, // Longer than a put retries. What still stands is known by its subject, whatever its age.
  queueLeaseMs: 30_000, // What a dead taker held goes on after it: an election of 9 s and one lost renewal must not end a living one's.
  queueRenewMs: 10_000, // How often a taker renews its leases.
  queueTasksMax: 20_000, // Handed out at once, to all pollers: a server keeps some 100 bytes of each. The rest waits.
  queueCallbacksMax: 2_000, // Handed out at once, to all senders: each waits for its receiver, for hours at worst.
  queueHeartbeatMs: 1_000, // Of a server that has nothing to hand out.
  queueStallMs: 3_000, // Neither an item nor a heartbeat for so long: it is asked anew.
  queuePullMs: 30_000, // Then the server ends the request and the next one is sent.
  queueSweepMs: 3_600_000, // Between two searches for pieces without an item.
  queueOrphanMs: 3_600_000, // Pieces are put before their item, within seconds; after so long it does not come any more.

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
  routingNamesMax: 1_000, // Of aliases, and of routers, that are set over the configuration's: all are copied at each change.
  keyGraceSecondsMax: 2_592_000, // 30 days: a key that was replaced is not meant to stay.
  adminChangeMs: 10_000, // For a change to be stored and applied; an import of hundreds of prices is some frames.
  adminTokenCharactersMin: 32, // Nobody guesses so many.
  priceEntryBytesMax: 16 * 1024, // Of one row of a price file: the longest that is shipped has 5 KB.
  globalFactsPerFrame: 24, // Prices of that size fit into frameBytesMax.

  // Rates
  rateLeaseMs: 1_000, // Units that an edge leased and did not spend go back; the burst of a limit leaves room for so much.
  rateLeaseAheadMs: 250, // An edge leases for so long ahead: a busy one asks four times a second.
  rateLeaseDivisor: 40, // No lease is above 2.5 % of a limit: what lies unused somewhere stays below the 5 % that may.
  rateCacheMs: 100, // A refusal rests on what was read or written so recently; a storm of them costs ten questions a second.
  rateWaitMs: 2_000, // What cannot be learnt by then is refused with 503: the log is away too.
  rateSweepMs: 250, // How late unused leases go back, and tokens that were used are told.
  rateIdleMs: 10_000, // A limit that nobody asks for is forgotten by the edge.
  rateRecordMs: 900_000, // And by all: longer than tokens are owed for, ten minutes.
  rateRecordsWindowMs: 1_000, // No record is put twice under one id; the least that costs the server.
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
  outcomesKeptMs: 86_400_000, // A day, as others keep them: clients retry within minutes, jobs overnight.
  outcomesBytes: 4 * 1024 ** 3, // Of all, as the stream is made: 2 million answers of 2 KB. When it is full, keys are refused, not forgotten.
  outcomeBytesMax: 512 * 1024, // Of one, in one message: nats-server's default max_payload is 1 MB. Text has a tenth of that; images are more.
  outcomeHeadBytesMax: 4 * 1024, // Of that, for status and headers: a model's name may be long.
  outcomeDuplicateWindowMs: 60_000, // Longer than a write is tried.
  outcomeWriteMs: 5_000, // A claim that is not acknowledged for so long: the request gets 503. An outcome has closingAckMs, as its bill has.
  outcomeRetryMs: 250, // Before a key is let go once more, whose store was away.
  outcomeLeaseMs: 20_000, // What a dead edge had claimed is taken over after so long; most requests end before they renew.
  outcomeRenewMs: 10_000, // Before the lease ends it is renewed: a lost renewal must not end a living one's.
  outcomeRetryAfterSecondsMax: 10, // Whoever repeats a request that runs waits for as long as that has run, up to here.
  outcomeRacesMax: 8, // Each means that another request with the key made progress.

  // Stored responses
  responseOwnersMax: 50_000, // That the tables may not have yet, with their owners: about 10 MB, and minutes of a busy edge.

  // Tasks
  resultRefreshMs: 3_000, // For a vendor to sign a result anew; then the poll is answered with the URL as it was.
  resultRefreshRetryMs: 10_000, // A vendor that did not is left alone with the task for so long.
  refreshedResultsMax: 1_000, // Tasks whose URLs were signed anew: 1 KB each, 130 KB at the very worst.
  endedTasksMax: 10_000, // That the tables may not have yet: about 25 MB; without them, the last minutes of a busy edge.

  // Scheduler
  sealTickMs: 100,
  sealEveryMs: 600, // With a tick and the append: a checkpoint at least every second under load.
  sealStandbyMs: 2_000, // A sealer that another one's checkpoints come to waits for so much longer.
  sealLeavesMax: 4_096, // Their hashes take 180 KB of a frame.
  sealSliceBytesMax: 1024 * 1024, // A few milliseconds of hashing; then others in the process have their turn.
  sealFaultMs: 60_000, // Between two complaints of a log that is not sealed any further.
  expiryTickMs: 250,
  clockJumpMs: 1_000, // A wall clock that is ahead by more was set; a late tick of a busy process delays both clocks alike.
  clockSettleMs: 1_800_000, // Longer than an allowance of the default request deadline lives; a dead edge's money is back so much later.
  schedulerStopMs: 2_000, // For an append under way; one that takes longer waits for a log that is away.

  // Audit
  verifyUnsealedMs: 60_000, // A frame that no checkpoint seals for so long is not proven; sealers are done within seconds.
  verifyUnsealedFramesMax: 250_000, // Their hashes take about 80 MB; only a log that was sealed late has so many.
  verifyMisplacedFramesMax: 16_384, // Frames out of place that may still be found elsewhere: four full checkpoints.
  verifyRecentFramesMax: 65_536, // A copy of a frame is known for one within so many.
  verifyRecentSealsMax: 8, // Two sealers at once are no further apart.
  verifyDeferredSealsMax: 4, // Checkpoints that stand before frames they need.
  verifyPendingCheckpointsMax: 65_536, // Checkpoints that are held against frames when these are read once more; about 10 MB.
  verifyFindingsMax: 200, // Shown; of the rest the number is told.
  verifyFaultsMax: 1_000, // Stretches that cannot be read; a source with more is given up.
  publishedCheckpointsBytesMax: 64 * 1024 * 1024, // A file of published checkpoints: those of 200,000 segments.
  publicKeyBytesMax: 4_096,
  proofBytesMax: 64 * 1024 * 1024, // A frame and a few dozen hashes.
  archiveSegmentBytesMin: 32 * 1024 * 1024, // Of frames, about 3 MB compressed; then the segment ends at the next checkpoint.
  archiveUnsealedBytesMax: 16 * 1024 * 1024, // Frames that wait for their checkpoint; beyond this they are read again.
  archiveHeaderBytesMax: 4_096, // The line before a frame: sequence, subject, id, time.
  archiveFrameBytesMax: 64 * 1024 * 1024, // nats-server's own bound of max_payload.
  archiveChunkBytes: 256 * 1024, // Read, inflated and handed on at once.
  archiveCommitMs: 1_000, // The manifest is written anew as often: an interruption costs so much work.
  restoreFramesInFlightMax: 256, // Enough to hide the round trip.
  restoreBytesInFlightMax: 16 * 1024 * 1024,
  restoreAckMs: 30_000, // A full window behind a disk that takes 100 ms to sync.
  restoreFailuresMax: 20, // In a row, without a frame stored between them.

  // Reconciliation
  invoiceRecordCharactersMax: 1024 * 1024, // One line of a CSV file.
  invoiceElementCharactersMax: 64 * 1024 * 1024, // One day of a page of a report.
  invoiceFaultsMax: 1_000, // Bad rows shown; of the rest the number is told.
  invoiceCellsMax: 200_000, // Days × models × items, held in memory: a year of 50 models.
  invoiceRowsPerCopy: 5_000,
  invoicePartsMax: 64, // Kinds of quantities in one file.
  reconcileRowsPerRead: 2_000,
  reconcileStraddleMs: 10_800_000, // Longer than any request may take; only these are looked at for a midnight between start and end.
  reconcileClockSkewMs: 5_000, // Between a provider's clock and ours.
  reconcileGraceMs: 60_000, // After a deadline, for whoever ends what has passed it.
  reconcileRoundingMaxPicos: 5_000_000_000, // Half a cent: no invoice is written in less than cents.
  reconcileRoundingOpenaiPicos: 1_000, // A row of the costs report: its amounts pass through double precision.
  reconcileRoundingAnthropicPicos: 1_000_000, // A row of the cost report, which tells a ten-thousandth of a cent.
  reconcileShownMax: 50, // Findings of a kind that a person is shown; `--json` has them all.
  reconcileCatchUpMs: 30_000, // For the tables to reach the end of the log.
  correctionsPerPost: 256, // Below frameEventsMax.

  // Projector
  projectionBatchEventsMax: 20_000, // With fewer the fold waits for the commit, with more for the memory's collection.
  projectionSliceEventsMax: 500, // A few milliseconds of folding; then others in the process have their turn.
  projectionRestMs: 100, // Between commits: most of what a commit costs, and little to whoever waits for the tables.
  tablesPollMs: 25, // Between looks at the checkpoint, for whoever does.
  projectionRetryMs: 200,
  projectionRetryMaxMs: 5_000,
  projectionStandbyMs: 2_000, // A checkpoint that stands for so long, several full batches, while the log goes on has lost its projector.
  projectionLagMs: 5_000, // Tables that are further behind are told of.
  mergeRowsPerStatement: 1_000, // Some 20 ms of making arrays for the widest table; then others have their turn.
  copyRowsPerChunk: 500, // About 150 KB of text; the event loop turns between chunks.
  compareRowsPerRead: 1_000,
  compareDifferencesMax: 20, // Rows shown when a rebuilt table differs.
  pageRowsMax: 1_000, // Of one answer of a read model.
  pageRows: 100, // Where the caller names no number.
  chargesScannedMax: 5_000, // Of requests, and of tasks, that one page of filtered charges looks at: about 7 ms together.
  chargePlacesMax: 1_000, // Events of one task that are told: a vendor's state and percentage advance about a hundred times.
  statementChunkCharacters: 64 * 1024, // Written at once.
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
  observeConnectionsMax: 64, // A scraper and a few people.
  observePort: 9464, // Where exporters of OpenTelemetry serve Prometheus, too.
  probeMs: 1_000, // How late it is noticed that the log or the database is away.
  probeSilentMs: 3_000, // A question without an answer for so long: it is away.
  lagSamplesMax: 3_600, // Ends of the log that a follower has not reached, an hour of them.
  scrapeMs: 2_000, // For what the servers are asked at a scrape; then its figures are left out.
  warningRepeatMs: 60_000, // Between two lines of the same trouble.
  requestLineWaitMs: 1_000, // A request's line waits so long for its charge to be in the ledger.
  requestLineSweepMs: 250,
  faultCausesMax: 6, // Shown in a line of our log.

  // Processes
  startMs: 30_000, // For each embedded server to answer.
  withdrawMs: 0, // Between a stopping edge's 503 at /readyz and its last new connection: none, unless a load balancer looks there.
  stopMs: 15_000, // For requests in flight at shutdown, and then for what they cost to be recorded.
  signalEchoMs: 500, // npm passes on the Ctrl-C that the terminal has sent to all: so soon it is the same one, and no second.
  lastAnswerMs: 2_000, // For what a stopping edge or proxy broke off to be counted, and for the error to reach its caller.
  shutdownMs: 60_000, // For everything to stop; then the process ends, and its successor finds the rest in the log.
  embeddedRecoveryMs: 600_000, // After a kill a server reads its whole store before it answers; one that ends is noticed at once.
  embeddedHealthMs: 2_000, // Between two looks whether the nats-server writes.
  embeddedRoomBytes: 4 * 1024 * 1024, // What must fit on a disk that was full before the nats-server is started anew.
  embeddedPollMs: 20, // Between two looks at a server that starts or stops.
  embeddedProbeMs: 5_000, // For one look.
  embeddedPortsMax: 5, // A port is chosen before it is bound; another process may be quicker.
  embeddedLogTailCharsMax: 2_000, // Shown when a server does not start.
  natsStoreBytesMax: 1024 ** 4 * 64, // Larger than the disks that one embedded server has.
  databaseConnectionsMax: 8,
  databaseConnectMs: 5_000,
  databaseStatementMs: 10_000,
  databaseKeepAliveSeconds: 10, // With databaseKeepAlivesMax: the server gives a client up that has been gone for 40 s.
  databaseKeepAlivesMax: 3,

  // Video vendors
  videoSubmitMs: 60_000, // Images travel inline, 20 MB over a poor line; the vendor's own time-out is shorter.
  videoQueryMs: 15_000, // Nothing is made.
  videoAnswerBytesMax: 256 * 1024, // Of a task: a few KB; sixteen videos with URLs of 4 KB twice.
  videoTokenRenewMs: 300_000, // Before a token expires the next one is made: hosts' clocks differ.
  videoResultsMax: 16, // One video is usual.
  videoUrlCharactersMax: 4_096, // Of a signed URL; a longer one is dropped, since a piece of one is none.
  videoIdCharactersMax: 256, // A vendor's id of a task or of a video: about 20.
  videoDeductionCharactersMax: 128, // Kept as written: the longest number of units, and what zeros and blanks are around it.
  videoDurationCharactersMax: 32,

  vendorCallsPerSecond: 10, // Of one process, where the configuration does not say: accounts allow some 20.
  vendorQuestionsPerSecond: 5, // Of one proxy, for results whose URL has expired: what an account allows is for tasks that are open.
  vendorQuestionsInRowMax: 10,

  // Video poller
  taskDeadlineMs: 86_400_000, // Longer than a vendor's longest queue; then the money goes back.
  openTasksMax: 20_000, // Of one process: 4 KB each, late verdicts that are waited for included.
  taskLeaseTickMs: 1_000, // How late a lease that is due for renewal may be renewed.
  taskHoldWaitMs: 300_000, // A hold is placed within seconds of its payload, or by an edge that was paused; a payload without one is dropped then.
  taskDoubtMs: 75_000, // After a submit that may have been sent: its time-out is over, here and at the vendor, before anybody asks what became of it.
  taskPollMs: 5_000, // The vendor's own advice is 5 to 10 s.
  taskPollMaxMs: 30_000, // Of a task that has taken minutes.
  taskPollAgeDivisor: 10, // A task is asked for whenever it is a tenth older: 5 s at first, 30 s after five minutes.
  taskMissingMs: 300_000, // A submitted task that the vendor does not know for so long is told of.
  taskRetryMs: 2_000,
  taskRetryMaxMs: 60_000,
  taskRetryAfterMaxMs: 600_000, // A vendor that asks for more is asked again all the same.
  lateVerdictWindowMs: 86_400_000, // A vendor's word on a task whose hold has ended is waited for so long.
  latePollMs: 60_000,
  latePollMaxMs: 1_800_000,
  vendorCallsMax: 128, // In flight, for each account, besides submits.
  vendorSubmitsMax: 16, // In flight, for each account: each holds a request of up to 20 MB.
  vendorSubmitsInRowMax: 3, // Then a poll that waits has its turn.
  vendorCallsLateMs: 50, // A timer that fires late costs an account no calls, up to here.
  vendorWarningRepeatMs: 60_000, // Between two lines that tell of the same account's trouble.
  payloadReadsMax: 8, // At once; each may have 20 MB.
  callbackMs: 15_000, // One attempt.
  callbackTriesMax: 5, // Over about an hour, with the two that follow.
  callbackRetryMs: 40_000,
  callbackRetryFactor: 4,
  callbackRefusedTriesMax: 2, // Of an address that may not be called: its name may have pointed elsewhere for a moment.
  callbackLookupMs: 2_000, // For a name server to answer; it is asked twice.
  callbackAnswerBytesMax: 64 * 1024, // Of an answer that nobody needs.
  callbacksMax: 64, // At once, in one process; a slow receiver takes one place for callbackMs.

  // Sandbox provider
  sandboxBodyBytesMax: 32 * 1024 * 1024, // The gateway's own bound, and what it adds.
  sandboxCallsMax: 100_000, // Recorded calls; a bench makes millions.
  sandboxCallsBytesMax: 64 * 1024 * 1024, // Their headers and bodies, one of which may have 20 MB.
  sandboxCallsShownMax: 1_000, // Over HTTP, unless the caller names a number.
  sandboxModelsCountedMax: 10_000, // Model names whose first calls are counted.
  sandboxDelayMsMax: 3_600_000, // A timer above 2^31 ms would fire at once.
  sandboxChoicesMax: 128, // OpenAI's own bound.
  sandboxEchoWordsMax: 64, // Answers that no directive shapes stay small.
  sandboxWordCharactersMax: 64,
  sandboxOutputTokensMax: 1_000_000,
  sandboxTokensMax: 1_000_000_000, // A figure of usage: sums of many stay exact.
  sandboxAnswerBytesMax: 256 * 1024 * 1024, // Above upstreamBodyBytesMax, so that its refusal can be tested.
  sandboxToolCallsMax: 128, // Of one answer.
  sandboxCostTicksMax: 1e14, // 10,000 USD.
  sandboxResponsesStoredMax: 1_000, // For `previous_response_id`: a test needs a few.
  sandboxResponsesStoredCharactersMax: 16 * 1024 * 1024, // Of their JSON.
  sandboxVideosMax: 100_000, // Tasks and what was tried of them: a bench has 10,000 open at once.
  sandboxVideoBlocksMax: 16, // Of directives in one prompt.
  sandboxVideoFilesMax: 64, // Videos of one task; above what the gateway keeps.
  sandboxVideosShownMax: 1_000, // Over HTTP, unless the caller names a number.
  sandboxSchemaDepthMax: 16, // A schema may refer to itself.
  sandboxKeepAliveMs: 65_000, // Longer than the caller's, so that no call meets a closing connection.
} as const

const assertOrder = (earlier: keyof typeof limits, later: keyof typeof limits): void => {
  if (limits[earlier] >= limits[later]) throw new Error(`limits: ${earlier} must be below ${later}`)
}

assertOrder('unfundedBodyBytesMax', 'requestBodyBytesMax')
assertOrder('upstreamFirstByteMs', 'upstreamWholeAnswerMs')
assertOrder('upstreamWholeAnswerMs', 'requestDeadlineMs')
assertOrder('upstreamIdleMs', 'requestDeadlineMs')
assertOrder('closingUsageMs', 'stopMs')
assertOrder('frameAckMs', 'closingAckMs')
assertOrder('workspaceOpenRequestsMax', 'openRequestsMax')
assertOrder('openRequestsMax', 'connectionsMax')
assertOrder('openRequestsMax', 'upstreamConnectionsMax')
assertOrder('tailsOfOneMax', 'tailsMax')
assertOrder('projectionRestMs', 'projectionStandbyMs')
assertOrder('probeMs', 'probeSilentMs')
assertOrder('sealEveryMs', 'verifyUnsealedMs')
assertOrder('sealStandbyMs', 'verifyUnsealedMs')
assertOrder('allowanceDrainMs', 'admissionWaitMs')
assertOrder('slotRenewMs', 'slotLeaseMs')
assertOrder('slotLeaseMs', 'rateRecordMs')
assertOrder('slotPauseMs', 'slotPatienceMs')
assertOrder('followHeartbeatMs', 'followStallMs')
assertOrder('followStallMs', 'logStalledMs')
assertOrder('routedAckMs', 'queueDuplicateWindowMs')
assertOrder('outcomeWriteMs', 'outcomeRenewMs')
assertOrder('outcomeRenewMs', 'outcomeLeaseMs')
assertOrder('closingAckMs', 'outcomeDuplicateWindowMs')
assertOrder('outcomeHeadBytesMax', 'outcomeBytesMax')
assertOrder('queueHeartbeatMs', 'queueStallMs')
assertOrder('queueRenewMs', 'queueLeaseMs')
assertOrder('callsPieceBytesMax', 'callsMessageBytesMax')
assertOrder('callsMessageBytesMax', 'callsWindowBytes')
assertOrder('callsWindowBytes', 'callsAckBytes')
assertOrder('callsAckBytes', 'callsFlightBytesMax')
assertOrder('callsPingMs', 'callsAbsentMs')
assertOrder('callsAbsentMs', 'callsAcceptMs')
assertOrder('callsAcceptMs', 'callsSilentMs')
assertOrder('taskPollMs', 'taskPollMaxMs')
assertOrder('taskRetryMs', 'taskRetryMaxMs')
assertOrder('taskLeaseTickMs', 'queueRenewMs')
assertOrder('videoSubmitMs', 'taskDoubtMs')
assertOrder('latePollMs', 'latePollMaxMs')
assertOrder('callbackMs', 'queueLeaseMs')
assertOrder('callbackLookupMs', 'callbackMs')
assertOrder('requestBodyBytesMax', 'sandboxBodyBytesMax')
assertOrder('upstreamBodyBytesMax', 'sandboxAnswerBytesMax')
assertOrder('videoResultsMax', 'sandboxVideoFilesMax')
assertOrder('upstreamKeepAliveMs', 'sandboxKeepAliveMs')
