export const walletLimits = {
  limitedLabelsMax: 10_000, // Tags and end users with limits, of a workspace: some 500 bytes each, at every edge.
  alertRulesMax: 100, // Of a workspace: each is looked at with every request.
  alertTriesMs: 86_400_000, // From an alert to its last delivery.
  alertFailureReasonsMax: 5, // Of an alert and a destination: each is an event, and reasons may alternate with every try.
  errorRateRequestsMin: 20, // In an hour: fewer are no rate.
} as const
