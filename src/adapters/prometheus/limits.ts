export const metricsLimits = {
  scrapeMs: 2_000, // For querying the servers at a scrape; then their figures are left out.
} as const
