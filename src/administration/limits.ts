export const administrationLimits = {
  adminChangeMs: 10_000, // For a change to be stored and applied; an import of hundreds of prices is some frames.
  routingNamesMax: 1_000, // Of aliases, and of routers, that override the configuration: all are copied at each change.
  priceEntryBytesMax: 16 * 1024, // Of one row of a price file: the longest that is shipped has 5 KB.
  globalFactsPerFrame: 24, // Prices of that size fit into frameBytesMax.
  proposalMs: 7 * 86_400_000, // Within which another administrator approves an adjustment.
  closingDelayMs: 600_000, // After a month, before it is closed: what ended in it is stored by then.
  invoicesPerCall: 500, // A few seconds; the next call goes on.
  invoiceLinesMax: 100, // Of one kind; with those of tags, an event has less than 400 KB of the 512 of a frame.
  invoiceTagValuesMax: 50, // Of one of at most 32 tags.
  invoiceBytesPerAppend: 200_000, // Of events that go into one frame; one that is larger goes alone.
  invoiceTries: 20, // Each means that another process has issued some meanwhile.
  unfinishedRowsMax: 1_000, // Of one answer; closing names the first, and goes by all of them.
  reportRowsMax: 10_000, // Of one answer: a few megabytes. The command has no such bound.
} as const
