export const projectionLimits = {
  chargesScannedMax: 5_000, // Requests, and tasks, that one page of filtered charges scans: about 7 ms together.
  requestIdCharactersMin: 8, // Of an id, by which a request is searched for: of a UUIDv7 those of a minute have them in common.
  requestsScannedMax: 5_000, // Requests that one page of them looks through where it is filtered.
  chargePlacesMax: 1_000, // Events listed of one task: a vendor's state and percentage advance about a hundred times.
} as const
