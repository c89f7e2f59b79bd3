export const walletLimits = {
  limitedLabelsMax: 10_000, // Tags and end users with limits, of a workspace: some 500 bytes each, at every edge.
} as const
