/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const sandboxLimits = {
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
  sandboxEmbeddingsMax: 2_048, // Inputs of one request: OpenAI's own bound.
  sandboxBatchEmbeddingsMax: 100, // Google's own bound.
  sandboxDimensionsMax: 3_072, // Of the largest models.
  sandboxDimensions: 1_536, // Where none are asked for.
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
