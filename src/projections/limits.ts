/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const projectionLimits = {
  // Projector
  chargesScannedMax: 5_000, // Requests, and tasks, that one page of filtered charges scans: about 7 ms together.
  chargePlacesMax: 1_000, // Events listed of one task: a vendor's state and percentage advance about a hundred times.
} as const
