/** Of credentials that an upstream's identity service issues for a time. */
export const authenticationLimits = {
  profileReadMs: 15 * 60 * 1_000, // How long keys of a file are used, which another program may renew.
  credentialRequestMs: 10_000, // Candidates behind are tried then; identity services answer within a second.
  credentialAnswerBytesMax: 256 * 1024, // Tokens have some kilobytes.
  renewBeforeMs: 240_000, // Metadata servers give the same token until some minutes before it expires.
  unusableBeforeMs: 10_000, // For the way of a request, and for clocks that differ.
  renewPauseMs: 2_000, // Between two requests of one credential, failed ones included: callers in between get the last outcome.
  refusedPauseMs: 60_000, // A model that the account may not use refuses every credential, and others would wait for each new one.
  faultCharactersMax: 500, // Of an identity service's message, in our own log.
} as const
