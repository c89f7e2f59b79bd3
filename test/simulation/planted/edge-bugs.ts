import { bug, type PlantedBug } from './planted-bug.ts'

const edge = 'roles/edge'

/** The edge: admission, allowances, idempotency. */
export const edgeBugs: readonly PlantedBug[] = [
  bug(
    'a request is dispatched before it is recorded',
    `${edge}/surfaces/inference/inference.ts`,
    'const { sequence } = await withTimeout(appended, sharedLimits.routedAckMs, logUnavailable)\n      this.#awaitReturn(sequence)',
    'appended.catch(() => undefined)',
  ),
  bug(
    'a request whose proxy is gone is not ended',
    `${edge}/surfaces/inference/inference.ts`,
    'if (!(fault instanceof DispatchLost) || !asksForAnswer(call)) return',
    'if (fault instanceof DispatchLost || !asksForAnswer(call)) return',
    'proxies-die-unnoticed.json',
  ),
  bug(
    'a request that was recorded too late is not ended',
    `${edge}/surfaces/inference/inference.ts`,
    '() => log.append([unservedFact(call, logUnavailable())]),',
    '() => undefined,',
    'requests-are-recorded-too-late.json',
  ),
  bug(
    'an edge that does not follow the log serves',
    `${edge}/surfaces/inference/inference.ts`,
    'if (behindMs > sharedLimits.logStalledMs)',
    'if (behindMs < 0)',
    'edge-returns-with-an-old-ledger.json',
  ),
  bug(
    'an undelivered answer stays charged',
    `${edge}/surfaces/inference/inference.ts`,
    'if (isUndelivered) this.deliveries.markUndelivered(call.requestId)',
    'if (!isUndelivered) this.deliveries.markUndelivered(call.requestId)',
    'edges-are-cut-off.json',
  ),
  bug(
    'an answer whose charge came first stays charged',
    `${edge}/surfaces/inference/deliveries.ts`,
    'if (delivery.end !== null) this.#close(requestId, delivery.end)\n    else if',
    'if',
    'proxy-dies-after-its-bill.json',
  ),
  bug(
    'an answer whose charge comes later stays charged',
    `${edge}/surfaces/inference/deliveries.ts`,
    'if (delivery === undefined || delivery.isLost) return',
    'if (delivery === undefined) return',
    'edges-are-cut-off.json',
  ),
  bug(
    'a reservation is not counted',
    `${edge}/admission/spender.ts`,
    'allowance.reservedPicos += reservedPicos',
    'allowance.reservedPicos += 0n',
  ),
  bug(
    'what is reserved counts as free',
    `${edge}/admission/spender-funds.ts`,
    'allowance.hold.remainingPicos - allowance.reservedPicos',
    'allowance.hold.remainingPicos',
  ),
  bug(
    'an ended reservation is not given back',
    `${edge}/admission/spender-allowances.ts`,
    'allowance.requests -= 1',
    'allowance.requests -= 0',
  ),
  bug(
    'a reservation is given back twice',
    `${edge}/admission/spender-allowances.ts`,
    'allowance.reservedPicos -= reservedPicos',
    'allowance.reservedPicos -= 2n * reservedPicos',
  ),
  bug(
    'reservations do not end with their requests',
    `${edge}/admission/allowances.ts`,
    'if (closed !== null) this.#end(',
    'if (closed === null) this.#end(String(movements.length), 0n)\n        else void (',
  ),
  bug(
    'allowances live too short',
    `${edge}/admission/allowance-store.ts`,
    '2 * requestDeadlineMs + sharedLimits.closingAckMs + admissionLimits.allowanceMarginMs',
    'requestDeadlineMs / 8',
  ),
  bug(
    'idle allowances are kept',
    `${edge}/admission/spender-allowances.ts`,
    'if (current.requests === 0) this.#store.return(current)\n    else',
    'if (current.requests > 0)',
  ),
  bug(
    'a key that another request has is claimed',
    `${edge}/admission/idempotency/idempotency-keys.ts`,
    "if (put.refused === 'full') throw storeIsFull()\n    return null",
    "if (put.refused === 'full') throw storeIsFull()\n    return revision + 1",
  ),
  bug(
    'an abandoned request is forgotten, not ended',
    `${edge}/admission/idempotency/orphaned-request-resolver.ts`,
    'if (stored === null && seen.length === 0) await this.#fail',
    'if (stored === null && seen.length > 9) await this.#fail',
    'bill-after-its-edge-died.json',
  ),
  bug(
    'an abandoned request is not refunded',
    `${edge}/admission/idempotency/idempotency-keys.ts`,
    "if (decision === 'give_back' && left.chargedUsd !== null) await",
    "if (decision === 'forget' && left.chargedUsd !== null) await",
    'edge-dies-before-it-keeps-its-answer.json',
  ),
  bug(
    'a key whose stream broke off is released',
    `${edge}/surfaces/inference/serve-idempotent.ts`,
    "const isUnknown = (work.type === 'task' && !isRefused) || isAbortedStream(work, fault)",
    "const isUnknown = work.type === 'task' && !isRefused && !isAbortedStream(work, fault)",
    'stream-breaks-off-before-its-repeat.json',
  ),
  bug(
    'an answered key is run again',
    'domain/idempotency/decide.ts',
    "return { type: 'replay', record }",
    "return { type: 'claim' }",
  ),
  bug(
    'a running request is taken over at once',
    'domain/idempotency/decide.ts',
    'nowMs >= claim.leaseUntilMs',
    'nowMs > 0',
    'bill-after-its-edge-died.json',
  ),
  bug(
    'a stream that broke off is served again',
    'domain/idempotency/decide.ts',
    "return work.stream ? 'stays_charged' : 'give_back'",
    "return work.stream ? 'forget' : 'give_back'",
    'streams-of-edges-that-died.json',
  ),
]
