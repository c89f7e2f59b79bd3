export const archiveLimits = {
  archiveHeaderBytesMax: 4_096, // The line before a frame: sequence, subject, id, time.
  archiveFrameBytesMax: 64 * 1024 * 1024, // nats-server's own bound of max_payload.
  archiveChunkBytes: 256 * 1024, // Read, inflated and handed on at once.
  archiveCommitMs: 1_000, // How often the manifest is rewritten: an interruption loses at most the work since.
} as const
