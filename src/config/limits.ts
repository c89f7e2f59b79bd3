/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const configLimits = {
  // Administration
  adminTokenCharactersMin: 32, // Nobody guesses so many.

  // Video poller
  taskDeadlineMs: 86_400_000, // Longer than a vendor's longest queue; then the money goes back.
} as const
