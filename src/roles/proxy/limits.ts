export const proxyLimits = {
  upstreamFirstByteMs: 120_000, // Of a stream: reasoning models think before the first byte.
  upstreamWholeAnswerMs: 300_000, // Without a stream the first byte comes with the last; another candidate still has as long.
  upstreamIdleMs: 300_000, // Between two chunks: some models think as long as a whole response takes.
  retriesMs: 10_000, // Of one candidate: a caller should not wait longer for the next one.
  attemptsMax: 16, // Of a request: what the event that ends it lists.
  tokenizerLoadMs: 2_000, // After the start: the first stream that is left must not wait for it, and neither must a start.
  requestShareMsMin: 5_000, // Of a deployment's requests a minute, shares are of so long, or of so many requests.
  sharedRequestsMin: 32,
  tokenShareMs: 20_000, // Longer, since one answer can take the tokens of many seconds.
  limitShareWaitMs: 3_000, // A share of a deployment's limit is kept so long for a workspace that was refused: longer leaves more unused.
  closingUsageMs: 5_000, // After its client left, for a stream's usage, sent right after the last chunk.
  observedThinkingMsMin: 20, // A shorter time to the first visible token is the network's, not the model's.
  observedModelsMax: 1_000, // Whose rate of thinking is kept: 100 bytes each.
  thinkingTokensPerMinute: 3_600, // Of a model that was not observed yet: 60 a second, as common ones think.
  upstreamQuestionMs: 30_000, // A count, or a stored response: nothing is generated.
  upstreamBodyBytesMax: 64 * 1024 * 1024, // Generated audio and images come inline.
  upstreamErrorBodyBytesMax: 64 * 1024,
  chunksPerTurn: 1_024, // Of all streams. Where several workspaces ask, their time bounds a turn, some 0.04 ms each; more turns make more frames of the log.
  chunkPieceBytes: 16 * 1024, // Of a stream, read in one step: more come at once where events are many or large.
  droppedToolsMax: 32, // Named to the caller, who can offer any number of any length: they are sent to an edge in one message.
  upstreamFailedEventMs: 1_000, // After an error within a stream: its failed response comes with it, or not at all.

  vendorQuestionsMax: 10, // In vendorQuestionsMs, of one proxy, for results whose URL has expired: the account's rate is for open tasks.
  vendorQuestionsMs: 2_000,
} as const
