export const vendorLimits = {
  videoSubmitMs: 60_000, // Images travel inline, 20 MB over a poor line; the vendor's own time-out is shorter.
  videoQueryMs: 15_000, // A query makes nothing.
  videoAnswerBytesMax: 256 * 1024, // Of a task: a few KB; sixteen videos with URLs of 4 KB twice.
  videoTokenRenewMs: 300_000, // Before a token expires the next one is made: hosts' clocks differ.
  videoResultsMax: 16, // One video is usual.
  videoUrlCharactersMax: 4_096, // Of a signed URL; a longer one is dropped, since a piece of one is none.
  videoIdCharactersMax: 256, // A vendor's id of a task or of a video: about 20.
  videoDeductionCharactersMax: 128, // Kept as written: the longest number of units, and what zeros and blanks are around it.
  videoDurationCharactersMax: 32,
} as const
