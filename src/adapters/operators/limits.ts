/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const operatorLimits = {
  observeConnectionsMax: 64, // A scraper and a few people.
} as const
