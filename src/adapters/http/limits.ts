export const httpClientLimits = {
  // Upstream
  upstreamConnectMs: 10_000,
  upstreamWaysMax: 1_024, // Proxies and authorities of one configuration, those that were replaced included.
  upstreamTargetsMax: 256, // Kept as they were parsed; addresses of single objects would be more.
  upstreamConnectionsMax: 8_192, // For each provider: what two full edges have open must not queue here until it times out.
  upstreamKeepAliveMs: 30_000,
  upstreamBufferBytesMax: 256 * 1024, // Read ahead of a slow client; then its upstream is paused.
  upstreamDrainBytesMax: 64 * 1024, // The rest of a response is read up to here, so that the connection can be reused.
  upstreamDrainMs: 1_000,

  // Video poller
  callbackLookupMs: 2_000, // For a name server to answer; it is asked twice.
  callbackAnswerBytesMax: 64 * 1024, // Of a response that is not used.
} as const
