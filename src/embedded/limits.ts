export const embeddedLimits = {
  embeddedRecoveryMs: 600_000, // After a kill a server reads its whole store before it answers; one that ends is noticed at once.
  embeddedHealthMs: 2_000, // Between two checks of whether the nats-server can write.
  embeddedRoomBytes: 4 * 1024 * 1024, // Room that a full disk must have again before the nats-server is restarted.
  embeddedProbeMs: 5_000, // For one check.
  embeddedPortsMax: 5, // A port is chosen before it is bound; another process may be quicker.
  embeddedLogTailCharsMax: 2_000, // Shown when a server does not start.
  natsLoginMs: 30_000, // A process that starts under load may send its password later than the server's default of 2 s.
  natsStoreBytesMax: 1024 ** 4 * 64, // Larger than the disks that one embedded server has.
} as const
