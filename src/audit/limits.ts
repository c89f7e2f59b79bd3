export const auditLimits = {
  verifyUnsealedFramesMax: 250_000, // Their hashes take about 80 MB; only a log that was sealed late has so many.
  verifyMisplacedFramesMax: 16_384, // Misplaced frames that may still be found elsewhere: four full checkpoints.
  verifyRecentFramesMax: 65_536, // A copied frame is recognized within so many.
  verifyRecentSealsMax: 8, // Two sealers at once are no further apart.
  verifyDeferredSealsMax: 4, // Checkpoints that are stored before frames they need.
  verifyPendingCheckpointsMax: 65_536, // Checkpoints to compare when the frames are read again; about 10 MB.
  verifyCosignableSealsMax: 65_536, // The newest, to compare with their cosignatures: half a day of them, about 10 MB.
  verifyUncomparedCosignedMax: 65_536, // Cosigned checkpoints whose frames are read again; about 10 MB.
  verifyFaultsMax: 1_000, // Unreadable ranges; a source with more is given up.
  archiveSegmentBytesMin: 32 * 1024 * 1024, // Of frames, about 3 MB compressed; then the segment ends at the next checkpoint.
  archiveUnsealedBytesMax: 16 * 1024 * 1024, // Frames that wait for their checkpoint; beyond this they are read again.
  restoreFailuresMax: 20, // In a row, without a frame stored between them.
  headRetryMs: 5_000, // Between two tries of a store of the signed head that could not be reached.
  consistencyProofLinesMax: 63, // C2SP tlog-witness: more than a tree of 2^63 leaves needs.
  snapshotPieceBytes: 256 * 1024, // A few milliseconds of encoding; then it yields to the rest of the process.
  verifySnapshotsMax: 16, // The last that checkpoints confirm: more than are kept.
  snapshotLineBytesMax: 16 * 1024 * 1024, // The longest record is that of a few events, each below 1 MB.
  snapshotBytesMax: 4 * 1024 * 1024 * 1024, // A ledger of so many would not fit into the memory of a process.
  snapshotHeadsReadMax: 16, // More than are kept: what else is stored there is not a sealer's.
  statementRowsPerRead: 2_000, // About 2 MB; the next are read while these are written.
  snapshotsKept: 3, // The projector starts from one that is not newer than its tables.
} as const
