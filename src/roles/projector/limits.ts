/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const projectorLimits = {
  // Projector
  projectionSliceEventsMax: 500, // A few milliseconds of folding; then others in the process have their turn.
  projectionRestMs: 100, // Between commits: most of what a commit costs, and little to whoever waits for the tables.
  projectionRetryMs: 200,
  projectionRetryMaxMs: 5_000,
} as const
