export const witnessLimits = {
  witnessBodyBytesMax: 16 * 1024, // 63 hashes take 3 KB; the rest is for the signatures of a checkpoint.
  witnessBodyMs: 5_000,
  witnessConnectionsMax: 256, // Logs and monitors, each with a connection or two.
  witnessAnswerMs: 10_000, // Of a witness that is asked: it stores its state before it answers.
  witnessAnswerBytesMax: 16 * 1024,
} as const
