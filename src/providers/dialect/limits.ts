export const providerLimits = {
  // Reserved for a request whose caller sets no `max_tool_calls`; more is a line beyond the reservation.
  xSearchesMax: 16, // Of the same kind.
  fileSearchesMax: 16, // Of the same kind, over the caller's own files.
  codeRunsMax: 8, // xAI bills each run; OpenAI bills the container, and a container outlives the request.
  generatedImagesMax: 4, // One is usual; each costs as much as thousands of tokens.
  addressCharactersMax: 4_096, // What is longer is content: base64 without a scheme.
  memberNameCharactersMax: 256, // No API has one as long, and a pattern takes a time that grows with its square.
  argumentCharactersMax: 4_000_000, // Of all tool calls of a translated request: as much text as the largest contexts have in all.
  billedToolsMax: 128, // Of a request, that its provider runs and charges for: there are six kinds.
  imageToolPromptTokensMax: 8_000, // Of each image: OpenAI's own bound is 32,000 characters.
  imageToolImagesMax: 16, // That one image is made from: OpenAI's own bound.
  imageToolImageTokensMax: 1_100, // For each of those: 65, and 129 for a tile of 512 pixels, of which a short side of 512 leaves few.
  userCharactersMax: 64, // OpenAI refuses a longer one, and agents send longer ones.
  googleEmbeddingsMax: 100, // Of one request: Google's own bound.
  imageToolFidelityTokensMax: 6_240, // What `input_fidelity: high` adds to each of those, a square apart.

  // Upstream
  sseEventBytesMax: 16 * 1024 * 1024, // One event may hold one generated image.
  translatedEventBytesMax: 2 * 1024 * 1024, // No image is translated; one of 12 MB is read and written again in 80 ms.
  failedResponseCharactersMax: 64 * 1024, // It is sent to an edge with its error, in one message.
  upstreamOutputItemsMax: 4_096, // Of a response: a research answer has hundreds; text of any more is kept with the last.
  upstreamChoicesMax: 128, // OpenAI's own bound of `n`; text of any more is counted with the last.
  replyToolCallsMax: 128, // Of a translated stream: OpenAI's own bound of tools, and that of its SDK.
  replyHeldCharactersMax: 4 * 1024 * 1024, // Of tool calls that are put in order; an answer of text is not held.
  replyCitationsMax: 1_024, // Of a translated stream: an answer with web search has dozens; the rest is dropped.
  deliveredCharactersMax: 4 * 1024 * 1024, // Of a stream's text kept for an estimate; the rest is counted by its length.
  negativeFiguresMax: 16, // Of a usage, recorded in its event.
  figureNameCharactersMax: 128, // With its path in the usage: longer names are no figures.
  cachedPromptTokensMin: 1_024, // OpenAI caches no shorter prompt.
  estimateCharactersMax: 256 * 1024, // A tokenizer's time is ours: beyond this the count is extrapolated.
  estimateSliceCharacters: 512, // In one turn of the event loop. The tokenizer is quadratic in a run without spaces: 60,000 CJK characters took 13 s.
  estimateStepWeight: 64 * 1024, // Of the texts that are put together in one turn of the event loop: thousands of short ones, or a long one.
} as const
