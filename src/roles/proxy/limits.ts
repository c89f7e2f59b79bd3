/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const proxyLimits = {
  // Upstream
  upstreamFirstByteMs: 120_000, // Of a stream: reasoning models think before the first byte.
  upstreamWholeAnswerMs: 300_000, // Without a stream the first byte comes with the last; another candidate still has as long.
  upstreamIdleMs: 300_000, // Between two pieces of an answer: some models think between the first event and the next, as long as a whole answer takes.
  closingUsageMs: 5_000, // For the usage of a stream whose client has left when all else had come: providers send it behind the last piece, at once.
  upstreamQuestionMs: 30_000, // A count, or an answer that is kept: nothing is generated.
  upstreamBodyBytesMax: 64 * 1024 * 1024, // Generated audio and images come inline.
  upstreamErrorBodyBytesMax: 64 * 1024,
  upstreamFailedEventMs: 1_000, // After an error within a stream: its failed response comes with it, or not at all.

  // Video vendors
  vendorQuestionsPerSecond: 5, // Of one proxy, for results whose URL has expired: what an account allows is for tasks that are open.
  vendorQuestionsInRowMax: 10,
} as const
