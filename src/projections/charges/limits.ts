export const projectionLimits = {
  chargesScannedMax: 5_000, // Requests, and tasks, that one page of filtered charges scans: about 7 ms together.
  requestsScannedMax: 5_000, // Requests that one page of them looks through where it is filtered.
  chargePlacesMax: 1_000, // Events listed of one task: a vendor's state and percentage advance about a hundred times.
} as const
