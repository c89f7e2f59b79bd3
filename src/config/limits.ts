export const configLimits = {
  // Administration
  adminTokenCharactersMin: 32, // Too many to guess.

  // Video poller
  taskDeadlineMs: 86_400_000, // Longer than a vendor's longest queue; then the money is refunded.
} as const
