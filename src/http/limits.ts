export const httpLimits = {
  idempotencyKeyCharactersMax: 255, // As in other APIs; a UUID has 36.
  pageRows: 100, // Where the caller gives no limit.
} as const
