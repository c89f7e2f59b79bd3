export const administrationLimits = {
  adminChangeMs: 10_000, // For a change to be stored and applied; an import of hundreds of prices is some frames.
  routingNamesMax: 1_000, // Of aliases, and of routers, that override the configuration: all are copied at each change.
  priceEntryBytesMax: 16 * 1024, // Of one row of a price file: the longest that is shipped has 5 KB.
  globalFactsPerFrame: 24, // Prices of that size fit into frameBytesMax.
  closingDelayMs: 600_000, // After a month, before it is closed: what ended in it is stored by then.
  reportRowsMax: 10_000, // Of one answer: a few megabytes. The command has no such bound.
} as const
