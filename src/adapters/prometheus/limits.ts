/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const metricsLimits = {
  // Watching
  scrapeMs: 2_000, // For what the servers are asked at a scrape; then its figures are left out.
} as const
