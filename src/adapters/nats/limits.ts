export const natsLimits = {
  // The log
  frameEventsMax: 512, // 512 events of 1 KB stay well below the server's 1 MB.
  frameBytesMax: 512 * 1024, // nats-server's default max_payload is 1 MB.
  frameHeadersBytesMax: 1_024, // The frame's first line and the message's headers, beside the events.
  frameTurnsMax: 2, // A frame costs what a dozen events cost: where many append, it is filled over turns of the event loop.
  frameGatheredEventsMin: 6,
  frameGatheredEventsMax: 48,
  framesInFlightMax: 1, // More only grows the tail behind one fsync.
  appendQueueEventsMax: 50_000, // Beyond this an append is refused: memory is bounded when the log is away.
  frameAckMs: 2_000, // Then the frame is sent again with the same id.
  frameRetryMs: 100,
  frameRetryMaxMs: 2_000,
  duplicateWindowMs: 600_000, // Longer than any outage that a frame's retries outlive; the fold dedupes for good.
  followBufferFramesMax: 2_048,
  recentFramesBytesMax: 4 * 1024 * 1024, // A second of frames at full load, for the followers of the same process.
  followBufferBytesMax: 8 * 1024 * 1024, // Full frames would make the buffer a gigabyte.
  followPullFramesMax: 256, // Asked of the server at once: enough to hide the round trip.
  followPullBytesMax: 8 * 1024 * 1024, // A process has several followers; the server drops a connection with 64 MB pending.
  followPullMs: 30_000, // Then the server ends the request and the next one is sent.
  followHeartbeatMs: 500, // The shortest that keeps a stall below logStalledMs.
  followStallMs: 1_500, // Neither a frame nor a heartbeat for so long: a fresh consumer is made.
  followInactiveMs: 30_000, // The server forgets a dead follower's consumer.
  followLagCheckMs: 1_000, // A consumer whose server lags is replaced within logStalledMs, or little more.
  followLagFramesMax: 256, // A server that is further behind has just restarted; one in step lags by milliseconds.
  followDoublingsMax: 2, // Of frameRetryMs between attempts: an edge whose follower is not back answers 503.
  followShortLogAttemptsMax: 5, // About 3 s for a new leader to apply what it has committed.
  readFramesMax: 1_024, // Of a range read, not taken by the reader yet.
  readBytesMax: 8 * 1024 * 1024,
  natsConnectMs: 5_000, // One attempt.
  natsConnectAttempts: 3, // The first connection: a process that starts under load may read the server's greeting too late.
  natsReconnectMs: 250, // A restarted server is found again well within closingAckMs.
  natsPingMs: 5_000, // With natsPingsOutMax: a silent connection is given up after 15 s.
  natsPingsOutMax: 2,
  natsOpenMs: 20_000, // A cluster elects a stream's leader within 4 to 9 s; a split vote takes another round.

  // Calls between processes
  callsMessageBytesMax: 64 * 1024, // Of packets in one NATS message: far below max_payload; more would only delay what follows.
  callsPieceBytesMax: 32 * 1024, // Calls on one link take turns; two pieces fill a message.
  callsPieceOverheadBytes: 64, // What a piece costs beside its bytes, so that a window of tiny ones is bounded too.
  callsWindowBytes: 128 * 1024, // Of one call, each way, not consumed by its reader: 10 MB/s at a round trip of 10 ms.
  callsFlightBytesMax: 4 * 1024 * 1024, // Of one link, unacknowledged: the server drops a connection with 64 MB pending.
  callsAckBytes: 512 * 1024, // Received and not acknowledged: beyond, an acknowledgement does not wait for the next tick.
  callsCallBytesMax: 128 * 1024 * 1024, // An encoded call: a 20 MB body with numbers written out (1e20) grows fivefold.
  callsTickMs: 100, // How late an acknowledgement, a ping or a loss may be.
  callsTickLateMs: 1_000, // The most of a late tick that counts as silence: a paused process could not receive.
  callsRequestMs: 500, // What is missing is requested again: longer than a full flight takes to arrive.
  callsPingMs: 1_000, // A peer with open calls that is silent for so long is pinged.
  callsAbsentPingMs: 500, // So is one for which the server reports no responders.
  callsIdlePingMs: 30_000, // A peer without open calls is dropped this long after it is gone.
  callsAbsentMs: 3_000, // A peer whose NATS server died is back on another by then.
  callsSilentMs: 9_000, // After the first unanswered ping: with that, a NATS server has 10 s to be replaced.
  callsAcceptMs: 5_000, // A proxy accepts a call as soon as it receives it.
  callsEndLateMs: 5_000, // After a call's deadline and closingAckMs: its proxy has ended it by then, or never will.
  callsCloseMs: 2_000, // For the edges to acknowledge a stopping proxy's last messages: they do so within a tick.

  // Work queues
  queuePieceBytesMax: 512 * 1024, // Of one message: nats-server's default max_payload is 1 MB, and reads return base64.
  queuePiecesMax: 256, // A 20 MB body with numbers written out (1e20) grows fivefold.
  queueDuplicateWindowMs: 60_000, // Longer than a put retries. An item still stored is recognized by its subject, at any age.
  queueTasksMax: 20_000, // Leased at once, to all pollers: a server keeps some 100 bytes of each. The rest waits.
  queueCallbacksMax: 2_000, // Leased at once, to all senders: each waits for its receiver, for hours at worst.
  queueHeartbeatMs: 1_000, // Of a server that has nothing to hand out.
  queueStallMs: 3_000, // Neither an item nor a heartbeat for so long: a new session is opened.
  queuePullMs: 30_000, // Then the server ends the request and the next one is sent.
  queueSweepMs: 3_600_000, // Between two searches for pieces without an item.
  queueOrphanMs: 3_600_000, // Pieces are put within seconds before their item; after so long it will not follow.

  // Rates
  rateRecordMs: 900_000, // Longer than tokens can be owed for: ten minutes.
  rateRecordsWindowMs: 1_000, // Records have no message id; the shortest window costs the server least.

  // Idempotency keys
  outcomesBytes: 4 * 1024 ** 3, // The stream's initial size: 2 million answers of 2 KB. When full, keys are refused, not forgotten.
  outcomeDuplicateWindowMs: 60_000, // Longer than a write is retried.

  // Audit
  restoreFramesInFlightMax: 256, // Enough to hide the round trip.
  restoreBytesInFlightMax: 16 * 1024 * 1024,
  restoreAckMs: 30_000, // A full window behind a disk that takes 100 ms to sync.
} as const
