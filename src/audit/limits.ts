/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const auditLimits = {
  // Audit
  verifyUnsealedFramesMax: 250_000, // Their hashes take about 80 MB; only a log that was sealed late has so many.
  verifyMisplacedFramesMax: 16_384, // Frames out of place that may still be found elsewhere: four full checkpoints.
  verifyRecentFramesMax: 65_536, // A copy of a frame is known for one within so many.
  verifyRecentSealsMax: 8, // Two sealers at once are no further apart.
  verifyDeferredSealsMax: 4, // Checkpoints that stand before frames they need.
  verifyPendingCheckpointsMax: 65_536, // Checkpoints that are held against frames when these are read once more; about 10 MB.
  verifyFaultsMax: 1_000, // Stretches that cannot be read; a source with more is given up.
  archiveSegmentBytesMin: 32 * 1024 * 1024, // Of frames, about 3 MB compressed; then the segment ends at the next checkpoint.
  archiveUnsealedBytesMax: 16 * 1024 * 1024, // Frames that wait for their checkpoint; beyond this they are read again.
  restoreFailuresMax: 20, // In a row, without a frame stored between them.
} as const
