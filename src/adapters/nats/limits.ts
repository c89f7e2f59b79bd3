/** The bounds of this folder, each with its unit in the name and its reason beside it. */
export const natsLimits = {
  // The log
  frameEventsMax: 512, // 512 events of 1 KB stay well below the server's 1 MB.
  frameBytesMax: 512 * 1024, // nats-server's default max_payload is 1 MB.
  frameHeadersBytesMax: 1_024, // The frame's first line and the message's headers, beside the events.
  framesInFlightMax: 1, // More only grows the tail behind one fsync.
  appendQueueEventsMax: 50_000, // Beyond this an append is refused: memory is bounded when the log is away.
  frameAckMs: 2_000, // Then the frame is sent again with the same id.
  frameRetryMs: 100,
  frameRetryMaxMs: 2_000,
  duplicateWindowMs: 600_000, // Longer than any network trouble that a frame's retries outlive; the fold dedupes for good.
  followBufferFramesMax: 2_048,
  recentFramesBytesMax: 4 * 1024 * 1024, // A second of frames at full load, for the followers of the same process.
  followBufferBytesMax: 8 * 1024 * 1024, // Full frames would make the buffer a gigabyte.
  followPullFramesMax: 256, // Asked of the server at once: enough to hide the round trip.
  followPullBytesMax: 8 * 1024 * 1024, // Of that: the server drops a connection that 64 MB wait for, and a process has several followers.
  followPullMs: 30_000, // Then the server ends the request and the next one is sent.
  followHeartbeatMs: 500, // The shortest that keeps a stall below logStalledMs.
  followStallMs: 1_500, // Neither a frame nor a heartbeat for so long: a fresh consumer is made.
  followInactiveMs: 30_000, // The server forgets a dead follower's consumer.
  followLagCheckMs: 1_000, // A consumer whose server lags is left within logStalledMs, or little more.
  followLagFramesMax: 256, // A cluster's server that is further behind has come back; one in step lags by milliseconds.
  followDoublingsMax: 2, // Of frameRetryMs between attempts: an edge whose follower is not back answers 503.
  followShortLogAttemptsMax: 5, // About 3 s for a new leader to apply what it has committed.
  readFramesMax: 1_024, // Of a range that is read, that nobody has taken yet.
  readBytesMax: 8 * 1024 * 1024,
  natsConnectMs: 5_000, // One attempt.
  natsReconnectMs: 250, // A restarted server is found again well within closingAckMs.
  natsPingMs: 5_000, // With natsPingsOutMax: a silent connection is given up after 15 s.
  natsPingsOutMax: 2,
  natsOpenMs: 20_000, // A cluster elects a stream's leader within 4 to 9 s, when two clash once more.

  // Calls between processes
  callsMessageBytesMax: 64 * 1024, // Of packets in one NATS message: far below max_payload; more would only delay what waits behind it.
  callsPieceBytesMax: 32 * 1024, // Calls on one link take turns; two pieces fill a message.
  callsPieceOverheadBytes: 64, // What a piece costs beside its bytes, so that a window of tiny ones is bounded too.
  callsWindowBytes: 128 * 1024, // Of one call, each way, that its reader has not consumed: 10 MB/s at a round trip of 10 ms.
  callsFlightBytesMax: 4 * 1024 * 1024, // Of one link, unacknowledged; the server drops a connection that 64 MB wait for. The rest waits under its calls' windows.
  callsAckBytes: 512 * 1024, // Received and not acknowledged: then the next tick is not awaited.
  callsCallBytesMax: 128 * 1024 * 1024, // An encoded call: a body of 20 MB in which numbers are written out (1e20) grows fivefold.
  callsTickMs: 100, // How late an acknowledgement, a ping or a loss may be.
  callsTickLateMs: 1_000, // Of a late tick that counts as silence: a process that was paused has heard nobody.
  callsPingMs: 1_000, // A peer that is needed and silent for so long is asked.
  callsAbsentPingMs: 500, // So is one that the server cannot find.
  callsIdlePingMs: 30_000, // A peer that nobody needs is forgotten this long after it went.
  callsAbsentMs: 3_000, // A peer whose NATS server died is back on another by then.
  callsSilentMs: 9_000, // After the first ping without an answer: with that, a NATS server has 10 s to be replaced.
  callsAcceptMs: 5_000, // A proxy says at once that it has a call.
  callsEndLateMs: 5_000, // After a call's deadline and closingAckMs: its proxy has ended it by then, or never will.
  callsCloseMs: 2_000, // For the edges to acknowledge a stopping proxy's last words: they do so within a tick.

  // Work queues
  queuePieceBytesMax: 512 * 1024, // Of one message: nats-server's default max_payload is 1 MB, and what is read back is base64.
  queuePiecesMax: 256, // A body of 20 MB in which numbers are written out (1e20) grows fivefold.
  queueDuplicateWindowMs: 60_000, // Longer than a put retries. What still stands is known by its subject, whatever its age.
  queueTasksMax: 20_000, // Handed out at once, to all pollers: a server keeps some 100 bytes of each. The rest waits.
  queueCallbacksMax: 2_000, // Handed out at once, to all senders: each waits for its receiver, for hours at worst.
  queueHeartbeatMs: 1_000, // Of a server that has nothing to hand out.
  queueStallMs: 3_000, // Neither an item nor a heartbeat for so long: it is asked anew.
  queuePullMs: 30_000, // Then the server ends the request and the next one is sent.
  queueSweepMs: 3_600_000, // Between two searches for pieces without an item.
  queueOrphanMs: 3_600_000, // Pieces are put before their item, within seconds; after so long it does not come any more.

  // Rates
  rateRecordMs: 900_000, // And by all: longer than tokens are owed for, ten minutes.
  rateRecordsWindowMs: 1_000, // No record is put twice under one id; the least that costs the server.

  // Idempotency keys
  outcomesKeptMs: 86_400_000, // A day, as others keep them: clients retry within minutes, jobs overnight.
  outcomesBytes: 4 * 1024 ** 3, // Of all, as the stream is made: 2 million answers of 2 KB. When it is full, keys are refused, not forgotten.
  outcomeDuplicateWindowMs: 60_000, // Longer than a write is tried.

  // Audit
  restoreFramesInFlightMax: 256, // Enough to hide the round trip.
  restoreBytesInFlightMax: 16 * 1024 * 1024,
  restoreAckMs: 30_000, // A full window behind a disk that takes 100 ms to sync.
} as const
