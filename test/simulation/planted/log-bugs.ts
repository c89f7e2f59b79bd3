import { bug, type PlantedBug } from './planted-bug.ts'

const nats = 'adapters/nats'
const edge = 'roles/edge'

/** Limits, prices, and the log with its writers. */
export const logBugs: readonly PlantedBug[] = [
  // Limits and prices.
  bug(
    'each edge counts the requests of a limit alone',
    `${edge}/admission/rates/shared-record.ts`,
    'await records.put(name, value, expected)',
    'await records.put(`${name}:${Math.random()}`, value, 0)',
    'limits-over-two-edges.json',
  ),
  bug(
    'the burst of a limit is too large',
    'domain/rates/meter.ts',
    'const burstDivisor = 30',
    'const burstDivisor = 3',
    'limits-over-two-edges.json',
  ),
  bug(
    'a video is charged at the price of its end',
    'domain/ledger/ledger.ts',
    'publishPrice(ledger.prices, event.data)',
    'publishPrice(ledger.prices, event.data)\n      for (const [taskId, task] of ledger.tasks) if (event.data.video !== undefined) ledger.tasks.set(taskId, { ...task, unitPrice: event.data.video.unit_price })',
    'price-changes-while-a-video-is-held.json',
  ),
  // The log and its writers.
  bug(
    'an append is acknowledged before it is stored',
    `${nats}/journal-writer.ts`,
    'stored.resolve(await this.#store.store(frame, { subject: this.#subject }))',
    'void this.#store.store(frame, { subject: this.#subject }).catch(() => undefined)\n      stored.resolve({ sequence: 1 })',
  ),
  bug(
    'a frame without an acknowledgement counts as stored',
    `${nats}/frame-store.ts`,
    "if (result.outcome === 'stored') return { sequence: result.sequence }",
    "if (result.outcome === 'stored') return { sequence: result.sequence }\n      if (result.outcome === 'unknown') return { sequence: 1 }",
  ),
  bug(
    'a frame is sent again under another id',
    `${nats}/frame-store.ts`,
    'messageId: id, expectedSequence',
    'messageId: `${id}.${frame.sends}`, expectedSequence',
  ),
  bug(
    'a wallet is written without its expected sequence',
    `${nats}/publisher.ts`,
    'if (expectedSequence !== undefined) all',
    'if (expectedSequence === -1) all',
  ),
  bug(
    'the own frame behind a lost acknowledgement is not recognized',
    `${nats}/wallet-subject-appender.ts`,
    'if (ownSequence !== null) return { sequence: ownSequence }',
    'if (ownSequence === -1) return { sequence: ownSequence }',
  ),
  bug(
    'a conflict counts as stored',
    `${nats}/wallet-subject-appender.ts`,
    'return { conflict: true, sequence: last }',
    'return { sequence: last }',
  ),
  bug(
    'a follower resumes one frame too far',
    `${nats}/log-source.ts`,
    'session.start(this.#received + 1)',
    'session.start(this.#received === 0 ? 1 : this.#received + 2)',
  ),
  bug(
    'a follower resumes at the frame that it had',
    `${nats}/log-source.ts`,
    'session.start(this.#received + 1)',
    'session.start(Math.max(1, this.#received))',
  ),
  bug(
    'a cancelled plan is renewed',
    'domain/wallet/decide-plan.ts',
    "if (!current.renews) return { facts: [endOf(current, 'expired')] }",
    '',
    'a-cancelled-plan-ends.json',
  ),
  bug(
    'a queued frame is forgotten when another is in flight',
    `${nats}/journal-writer.ts`,
    'if (this.#queued.length > 0) this.#flushSoon()',
    'if (this.#queued.length > 5) this.#flushSoon()',
    'requests-at-one-instant.json',
  ),
  bug(
    'commands of one batch are decided on the same wallet',
    'log/wallet-command-handler.ts',
    'for (const fact of decided.facts) applyToDraft(draft, fact)',
    'for (const fact of decided.facts) void [applyToDraft, fact]',
    'videos-beyond-the-wallet.json',
  ),
  bug(
    'a decision is settled though another writer was first',
    'log/wallet-command-handler.ts',
    "if ('conflict' in appended) continue",
    "if ('nothing' in appended) continue",
  ),
  {
    ...bug(
      'a decision is settled before its facts are applied',
      'log/wallet-command-handler.ts',
      'await this.#tail.waitForSequence(appended.sequence)',
      "if ('conflict' in appended) await this.#tail.waitForSequence(appended.sequence)",
    ),
    endsRun: true,
  },
]
