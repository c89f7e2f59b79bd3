export const projectorLimits = {
  projectionSliceEventsMax: 500, // A few milliseconds of folding; then it yields to the rest of the process.
  gatheredEventsMax: 128, // Well below a slice: what is folded before a commit delays it by a millisecond.
  projectionRestMs: 100, // Between commits: most of what a commit costs, and a short wait for readers of the tables.
  projectionRetryMs: 200,
  projectionRetryMaxMs: 5_000,
  refillRetryMs: 5_000,
} as const
