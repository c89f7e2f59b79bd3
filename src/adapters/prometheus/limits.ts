export const metricsLimits = {
  modelSeriesMax: 2_000, // Of models, deployments and surfaces together; further models are `other`.
  scrapeMs: 2_000, // For querying the servers at a scrape; then their figures are left out.
} as const
