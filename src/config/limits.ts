export const configLimits = {
  // Administration
  adminTokenCharactersMin: 32, // Too many to guess.

  // Telemetry
  metricsIntervalMs: [1_000, 3_600_000], // An export reads all figures.

  // Video poller
  alertSecretCharactersMin: 16,
  taskDeadlineMs: 86_400_000, // Longer than a vendor's longest queue; then the money is refunded.
} as const
