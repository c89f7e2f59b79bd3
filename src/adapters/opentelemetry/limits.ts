export const telemetryLimits = {
  attributeCharactersMax: 1_024, // A path is its caller's text.
  lastExportMs: 2_000, // At a stop, for what is not sent yet.
} as const
