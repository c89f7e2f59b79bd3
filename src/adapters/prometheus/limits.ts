/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const metricsLimits = {
  scrapeMs: 2_000, // For querying the servers at a scrape; then their figures are left out.
} as const
