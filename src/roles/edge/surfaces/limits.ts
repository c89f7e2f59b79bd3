export const surfaceLimits = {
  // Requests
  requestMembersMax: 1_000, // At its top level, where the largest API has some fifty: the body is copied a few times.
  formPartsMax: 256, // Of a video's form: the native format has some thirty members, and lists of a few items.
  imageTokensMax: 50_000, // Some small models count one image as tens of thousands of tokens.
  audioBytesPerTokenMin: 64, // Of base64. Audio models make 10 tokens of a second, and poor MP3 has 1 KB a second.
  audioTokensMin: 100, // The shortest clip.
  embeddingInputsMax: 2_048, // Of a request: OpenAI's own bound.
  embeddingTokenIdsMax: 300_000, // Of all inputs of a request: OpenAI's own bound.
  embeddingMembersMax: 306_000, // With the lists around them, of which OpenAI allows 2,048.
  outputTokensFloor: 16, // A lower cap gives no useful answer: 402 instead.

  // Answers
  clientStallMs: 60_000, // A client that does not read a piece for this long is gone.
  answerPieceBytes: 256 * 1024, // Written at once: a poor line takes it within clientStallMs.
  begunResponseBytesMax: 1024 * 1024, // Kept for the event of a failure, in which it is repeated: parsed and written while all other requests wait.
  keepAliveCommentMs: 15_000, // Proxies on the way drop connections that are idle for longer.
  liveTailMs: 3_600_000, // Of a live tail, whose reader then connects again: places that are all taken become free.
  deliveriesMax: 20_000, // Requests in flight, and undelivered ones whose end is awaited.

  // Tasks
  resultRefreshMs: 3_000, // For a vendor to re-sign a result; then the poll is answered with the URL as stored.
  resultRefreshRetryMs: 10_000, // How long a vendor is not asked again for a task after it failed to re-sign.
  refreshedResultsMax: 1_000, // Tasks with re-signed URLs: 1 KB each, 130 KB at the very worst.
} as const
