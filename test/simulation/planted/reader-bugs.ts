import { bug, type PlantedBug } from './planted-bug.ts'

const poller = 'roles/video-poller'
const edge = 'roles/edge'

/** Invented by reading the source from top to bottom, file by file, not from what the simulation checks. */
export const readerBugs: readonly PlantedBug[] = [
  // Videos.
  bug(
    'a doubtful submit is looked up too early',
    `${poller}/poll-event.ts`,
    "case 'unknown':\n      return then(state, { inDoubt: true, findFromMs: doubtedUntilMs, vendorHasNone: false })",
    "case 'unknown':\n      return then(state, { inDoubt: true, findFromMs: at.steadyMs })",
  ),
  bug(
    'a doubtful submit is sent again without a look',
    `${poller}/poll-event.ts`,
    "case 'unknown':\n      return then(state, { inDoubt: true, findFromMs: doubtedUntilMs, vendorHasNone: false })",
    "case 'unknown':\n      return then(state, { inDoubt: true, findFromMs: null })",
  ),
  bug(
    'a refusal in doubt is final',
    `${poller}/poll-event.ts`,
    'const findFromMs = state.inDoubt ? doubtedUntilMs : at.steadyMs',
    'const findFromMs = null',
    'vendor-denies-what-it-has.json',
  ),
  bug(
    'a task that the vendor does not know has failed',
    `${poller}/poll-event.ts`,
    "if (status.type === 'not_found') return onMissing(state, at, bounds)",
    "if (status.type === 'not_found') return then(state, { verdict: { outcome: 'FAILURE', vendorTaskId: 'none', deduction: null, failReason: null, vendorCode: null, results: [] } })",
  ),
  bug('late verdicts are not awaited', `${poller}/next-step.ts`, 'if (askedLast) return', 'if (nowMs >= 0) return'),
  bug(
    'a payload is dropped before its hold can come',
    `${poller}/next-step.ts`,
    'if (absentMs !== null && absentMs >= holdUntilMs) return',
    'if (absentMs !== null || nowMs > 0) return',
  ),
  bug(
    'an item is done as soon as its verdict is known',
    `${poller}/next-step.ts`,
    "if (verdict !== null) return { type: 'settle', verdict }",
    "if (verdict !== null) return { type: 'finish' }",
  ),
  bug(
    'the verdict on another task is taken',
    'providers/vv-video/parse-task.ts',
    'return isExpected(data, vendorTaskId, expected) ?',
    'return externalIdOf(data) !== expected ?',
  ),
  bug(
    'leases are not renewed',
    `${poller}/poller.ts`,
    'for (const run of this.#runs.values()) run.keepLease()',
    'for (const run of this.#runs.values()) void run',
  ),
  bug(
    'an implausible deduction is charged',
    'domain/video/settle.ts',
    'isPlausible ? verdict : { ...verdict, deduction: null }',
    'verdict',
  ),
  bug(
    'a failed video is charged',
    'domain/video/settle.ts',
    "if (verdict.outcome === 'FAILURE') return { source: 'reported', lines: [], totalPicos: 0n }",
    "if (verdict.outcome !== 'FAILURE' && verdict.deduction === '') return { source: 'reported', lines: [], totalPicos: 0n }",
  ),
  bug(
    'a video without a figure is free',
    'domain/video/settle.ts',
    "? chargeUnits(unitsOf(task.unitsMax), task.unitPrice, 'estimated')",
    "? { source: 'estimated', lines: [], totalPicos: 0n }",
  ),
  bug(
    'a second end of a task counts',
    'domain/ledger/ledger.ts',
    '  ledger.tasks.delete(task.taskId)\n  end(task)',
    '  end(task)',
  ),
  bug(
    'a task that expired stays open',
    'domain/ledger/ledger.ts',
    'task: endTask(ledger, { taskId, workspaceId }, (task) => expireTask(task, event)) }',
    'task: null }',
  ),
  bug(
    'a settled task keeps its hold',
    'domain/wallet/evolve.ts',
    'return [...charged, ...endHold(wallet, holdId)]',
    'return [...charged]',
  ),
  bug(
    'a video is accepted beyond what is spendable',
    'domain/wallet/decide.ts',
    'if (spendablePicos(wallet, remaining) < amountPicos) return',
    'if (spendablePicos(wallet, remaining) < amountPicos / 2n) return',
    'videos-beyond-the-wallet.json',
  ),
  bug(
    "the caller's own id names several tasks",
    'domain/wallet/decide.ts',
    'if (existing?.requestDigest === requestDigest || wallet.holds.has(taskId)) return { facts: [] }\n  if (existing !== undefined) return',
    'if (wallet.holds.has(taskId)) return { facts: [] }\n  if (existing !== undefined && existing.requestDigest !== requestDigest) return',
    'own-ids-at-one-instant.json',
  ),
  bug(
    'the hold of a refused video is kept',
    `${edge}/surfaces/tasks/place-task.ts`,
    'if (!isFound) this.#awaitAtClose(',
    'if (isFound && !isFound) this.#awaitAtClose(',
    'holds-of-refused-videos.json',
  ),
  bug(
    'a video is held before its payload is queued',
    `${edge}/surfaces/tasks/place-task.ts`,
    'await this.#queue(command.taskId, payload)\n',
    'void this.#queue(command.taskId, payload).catch(() => undefined)\n',
  ),
  bug(
    'a repeated video is a new task',
    `${edge}/surfaces/tasks/submit-task.ts`,
    "const namedId = work.type === 'task' ? work.taskId : taskId",
    'const namedId = taskId',
    'video-repeated-after-its-edge-died.json',
  ),

  // Plans, credits and keys.
  bug(
    'a plan is renewed again and again',
    'domain/wallet/decide-plan.ts',
    'if (current?.subscriptionId !== subscriptionId || current.expiresAtMs !== expiresAtMs) return { facts: [] }',
    'if (current?.subscriptionId !== subscriptionId) return { facts: [] }',
    'two-schedulers-renew.json',
  ),
  bug(
    'a renewal takes its fee and gives no credit',
    'domain/wallet/evolve.ts',
    'return isNext ? beginPeriod(wallet, data, nextAnchorDay(current), current.renews) : []',
    "return isNext ? beginPeriod(wallet, { ...data, includedCredit: '0' }, nextAnchorDay(current), current.renews) : []",
    'two-schedulers-renew.json',
  ),
  bug(
    'what a refund returns is not free for its key',
    'domain/wallet/evolve.ts',
    'count(wallet, spender, { spentPicos: -amountPicos })',
    'count(wallet, spender, { spentPicos: amountPicos })',
  ),
  bug(
    'spend limits do not count what is held',
    'domain/wallet/spending.ts',
    'leftPicos: limitPicos - spent[`${period}Picos`] - heldPicos',
    'leftPicos: limitPicos - spent[`${period}Picos`]',
  ),
  bug(
    'a fresh key has a spend limit of its own',
    'domain/accounts/decide.ts',
    '...(replaces === undefined ? {} : { replaces }),',
    '...(replaces === "" ? { replaces } : {}),',
  ),
  bug(
    'a revoked key works on',
    'domain/accounts/accounts.ts',
    'accounts.keysBySha256.delete(key.sha256)',
    'accounts.keysBySha256.get(key.sha256)',
  ),

  // Snapshots.
  bug(
    'a snapshot forgets what writers have stored',
    'domain/ledger/snapshot.ts',
    'ledger.writers.set(id, { low, above: new Set(above) })',
    'ledger.writers.set(id, { low: low - low, above: new Set(above) })',
  ),
  bug(
    'a snapshot leaves the open requests out',
    'domain/ledger/snapshot.ts',
    "  mapKind('open-request', ({ openRequests }) => openRequests),\n",
    '',
  ),
  bug(
    'a snapshot is confirmed for a later sequence',
    'roles/scheduler/snapshot-writer.ts',
    'return store.write(ledger.sequence, encodeSnapshot(ledger))',
    'return store.write(ledger.sequence + 1, encodeSnapshot(ledger))',
  ),
  bug(
    'a start from a snapshot skips a frame',
    'log/ledger-tail.ts',
    'ledger.sequence + 1',
    'ledger.sequence + (ledger.sequence === 0 ? 1 : 2)',
  ),
]
