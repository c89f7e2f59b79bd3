export const operatorLimits = {
  observeConnectionsMax: 64, // A scraper and a few people.
} as const
