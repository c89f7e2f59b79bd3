import { bug, type PlantedBug } from './planted-bug.ts'

const nats = 'adapters/nats'

/** The proxy, calls between processes, the scheduler with its seals, the read models. */
export const processBugs: readonly PlantedBug[] = [
  // The proxy, and calls between processes.
  bug(
    'an answer is released before its bill is stored',
    'roles/proxy/closing.ts',
    'return withTimeout(this.#stored, this.#parts.closingAckMs, () => logUnavailable())',
    'return this.#appended as Promise<ClosingFact>',
  ),
  bug(
    'the bill names the model of another candidate',
    'roles/proxy/closing.ts',
    '      model: candidate.model,',
    '      model: call.candidates[0]!.model,',
  ),
  bug(
    'the bill has the price of another candidate',
    'roles/proxy/closing.ts',
    'chargeFor(candidate.sheet, usage)',
    'chargeFor(call.candidates[0]!.sheet, usage)',
  ),
  bug(
    'the bill is lost when the client leaves',
    'roles/proxy/run-state.ts',
    "delivered || outcome === 'client_gone' ? { type: 'record_usage', outcome } : { type: 'record_undelivered' }",
    "delivered && outcome !== 'client_gone' ? { type: 'record_usage', outcome } : { type: 'record_undelivered' }",
  ),
  bug(
    'a failed request has no end',
    'roles/proxy/run-state.ts',
    "const record: RunEffect = isOwed ? { type: 'record_unanswered' } : { type: 'record_failure', error }",
    "const record: RunEffect = isOwed ? { type: 'record_unanswered' } : clearDeadline",
  ),
  bug(
    'an interrupted stream is billed as failed',
    'roles/proxy/run-state.ts',
    "const record = recordEnd(isDraining ? 'client_gone' : 'interrupted', released)",
    "const record = recordEnd(isDraining ? 'client_gone' : 'interrupted', false)",
  ),
  bug(
    'messages that were lost are not sent again',
    `${nats}/calls/link.ts`,
    "this.#publish('packets', sent.number, sent.bytes)",
    'void sent',
  ),
  bug(
    'what is lost is requested only once',
    `${nats}/calls/inbox.ts`,
    ' || nowMs - this.#requestedMs >= natsLimits.callsRequestMs',
    '',
    'lost-packets-are-requested-again.json',
  ),
  bug(
    'a lost peer is never noticed',
    `${nats}/calls/liveness.ts`,
    'return isAbsent || (this',
    'return isAbsent && (this',
    'proxies-die-unnoticed.json',
  ),

  // The scheduler and its seals.
  bug(
    'expired holds stay',
    'roles/scheduler/deadline-index.ts',
    'if (deadlineMs <= nowMs) overdue.push(item)',
    'if (deadlineMs < 0) overdue.push(item)',
  ),
  bug(
    'holds expire too early',
    'roles/scheduler/deadline-index.ts',
    'if (deadlineMs <= nowMs) overdue.push(item)',
    'if (deadlineMs <= nowMs + 54_000) overdue.push(item)',
  ),
  bug(
    'deadlines of new holds are not noticed',
    'roles/scheduler/deadline-index.ts',
    'if (deadline !== undefined) this.#expect(Date.parse(deadline))',
    'if (deadline === "") this.#expect(Date.parse(deadline))',
  ),
  bug(
    'news is not sealed',
    'roles/scheduler/seal-state.ts',
    'if (isNews) this.#lastNews = frame.sequence',
    'if (!isNews) this.#lastNews = frame.sequence',
  ),
  bug(
    'a seal leaves its last frame out',
    'audit/seal.ts',
    'for (const leaf of leaves) tree.append(leaf)',
    'for (const leaf of leaves.slice(1)) tree.append(leaf)',
  ),

  // The read models.
  bug(
    'rows of a batch are written again with the next',
    'roles/projector/batch-accumulator.ts',
    'this.#rows = startRows(this.#models)',
    'this.#rows = [...this.#rows]',
  ),
  bug(
    'a released hold keeps its row',
    'projections/wallets/project.ts',
    'deleted: { holds: holds.ended,',
    'deleted: { holds: holds.ended.slice(1),',
  ),
  bug(
    'the row of a hold is not updated by charges',
    'projections/wallets/project.ts',
    'if (routed.data.allowanceId !== null) addId(',
    'if (routed.data.allowanceId === "") addId(',
  ),
  bug(
    'the row of a wallet is not updated by charges',
    'projections/wallets/project.ts',
    '    const { workspaceId } = closing.data\n    this.#wallets.add(workspaceId)',
    '    const { workspaceId } = closing.data',
  ),
  bug(
    'rows of open requests stay',
    'projections/requests/project.ts',
    'if (!sides.delete(first)) completedOpen.push',
    'if (sides.delete(first)) completedOpen.push',
  ),
]
