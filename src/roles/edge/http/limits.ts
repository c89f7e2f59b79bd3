export const listenerLimits = {
  requestBodyBytesMax: 20 * 1024 * 1024, // Images and audio travel inline; OpenAI's own bound is 20 MB an image.
  discardPiecesMax: 4, // In one turn, of all of these, 64 KB each: with the next line 25 MB/s, some 5 % of a core.
  discardTurnMs: 10,
  headersCountMax: 100,
  tagsMax: 10, // As the event has it.
  tagCharactersMax: 64, // Likewise.
  requestsPerTurn: 32, // Begun in one turn of the event loop: each takes some 0.1 ms until its workspace is known.
  pipelinedRequestsMax: 16, // Unanswered requests of one connection; no SDK sends a second one before its first is answered.
  idleConnectionMs: 65_000, // Load balancers reuse a connection for 60 s; it must not be closed while they do.
  sharedWithdrawMs: 2_000, // Of a worker: for clients to send the next request on open connections, whose response then ends them.
  tlsHandshakeMs: 10_000, // Some round trips over a poor line.
  tlsHandshakesMax: 512, // Unfinished at once: of an honest client they take milliseconds.
  tlsReloadMs: 2_000, // Between two readings of the certificate's files, which are small.
  preflightSeconds: 7_200, // Chromium keeps what a preflight allows for no longer.
  sessionMs: 8 * 3_600_000, // Of the page: a working day. The cookie cannot be taken back, so not more.
  pendingSignInMs: 600_000, // For a person at the identity provider: passwords, second factors.
  identityProviderMs: 10_000, // For the few requests to it, while a person waits.
  refusalsMs: 60_000, // Between two events with the counts of refused requests: anyone can cause them.
  refusalRowsMax: 100, // Counted apart in one of them, as its schema has it: some 13 kB.
  requestLineWaitMs: 1_000, // How long the request line waits for its charge to be in the ledger.
  requestLineSweepMs: 250,
} as const
