export const admissionLimits = {
  // Requests
  unfundedBodyBytesMax: 256 * 1024, // Of a workspace without credit: room for free requests, and for repeats of paid ones.
  openRequestsMax: 4_096, // Per edge: a stream takes some 100 KB of it.
  abortedStreamsMax: 32, // Of a workspace: read on after their clients have left; more are cancelled and estimated.
  abortedStreamsAllMax: 1_024, // Per edge: a quarter of its open requests.
  shareWaitMs: 10_000, // A workspace that was refused is expected back for so long, by clients that heed Retry-After with back-off.
  openPayloadBytesMax: 2 * 1024 ** 3, // Of a workspace's open video tasks, per edge: on the log servers' disk, a hundred of the largest.
  workspaceOpenRequestsMax: 2_048, // Per edge: one workspace must leave room for others.

  // Allowances
  allowanceMarginMs: 5_000, // Of an allowance's deadline beyond its last request's end: hosts' clocks differ, and a token count takes time.
  allowanceIdleMs: 2_000, // An allowance unused for this long is returned.
  allowanceSpendWindowMs: 1_000, // An allowance is about what was spent in this time.
  allowanceDrainMs: 1_000, // How long an allowance due for return drains before requests are admitted against it again.
  allowanceSinglesMax: 256, // Allowances of one request each, in a nearly empty wallet: they may all end in one frame, and each decision copies the wallet.
  admissionWaitMs: 5_000, // How long a request waits for money that requests in flight still hold.
  admissionWaitersMax: 10_000,
  allowanceSweepMs: 250,
  allowanceReturnMs: 5_000, // For a stopping edge's allowances to be returned; the log accepts them within milliseconds, or is away.

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
  slotWaitMs: 100, // A slot that another edge releases within this time is taken.
  slotPauseMs: 25,

  // Idempotency keys
  outcomeBytesMax: 512 * 1024, // Of one, in one message: nats-server's default max_payload is 1 MB. Text has a tenth of that; images are more.
  largeOutcomeWritesMax: 2, // At once, of more than `turnBytes`; half of them of one workspace.
  largeOutcomeBytesPerMs: 16 * 1024, // Of one workspace, which then has used its quota in a minute.
  largeOutcomeWaitMs: 2_000, // For one of these: each takes some 10 ms, so by then the store is slow, or there are many.
  outcomeOverheadBytes: 512, // Beside the bytes of a record: its subject, headers and index.
  outcomeLeaseBytes: 4 * 1024 * 1024, // Of a workspace's quota, by one edge: eight answers of the largest size, which give back what they did not take.
  outcomeLeaseDivisor: 64,
  outcomeIdleMs: 1_000, // What an edge leased and no request uses is returned after this.
  outcomeHeadBytesMax: 4 * 1024, // Of that, for status and headers: a model's name may be long.
  capturedBytesMax: 64 * 1024 * 1024, // Of the streams with a key that are open at one edge: what is beyond is sent, and not stored.
  outcomeRetryMs: 250, // Between attempts to release a key while the store is away.
  outcomeLeaseMs: 20_000, // The claim of an edge that died is taken over after this; most requests end before they renew.
  outcomeRenewMs: 10_000, // How long before the end of the lease it is renewed: a lost renewal must not end a living one's.
  outcomeRetryAfterSecondsMax: 10, // A repeat of a running request is asked to wait for as long as that has run, up to this.
  outcomeRacesMax: 8, // Each means that another request with the key made progress.
} as const
