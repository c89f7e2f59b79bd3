import t from 'tap'
import { findOrCreateWallet } from '../../../../src/domain/ledger/ledger.ts'
import { formatUsd } from '../../../../src/domain/money.ts'
import { availablePicos, balancePicos } from '../../../../src/domain/wallet/wallet.ts'
import { admissionLimits } from '../../../../src/roles/edge/admission/limits.ts'
import { completionText, jsonHead, plainAsk, type Serve, startEdge, textBytes, workspaceId } from '../edge-fixture.ts'

const concurrent = 50
const picosPerMicro = 1_000_000n
const ask = { ...plainAsk, max_tokens: 100 }
const inputBytes = JSON.stringify(ask).length

/** Micro-USD at 1 in and 2 out per million. */
const costOf = (outputTokens: number): bigint => BigInt(inputBytes + 2 * outputTokens) * picosPerMicro

/** Takes a while, and uses so many tokens as it is let. */
const serveOutput = (outputTokens: number): Serve =>
  async function* (call, bill) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    await bill({ input: inputBytes, output: Math.min(outputTokens, call.outputCap ?? outputTokens) })
    yield jsonHead(call)
    yield textBytes(completionText)
  }

const countStatuses = (responses: readonly Response[]): Record<number, number> => {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

t.test('money for exactly N requests answers exactly N, however many come at once', async (t) => {
  const rows: readonly (readonly [what: string, n: number, outputTokens: number])[] = [
    ['the worst case is what it costs', 7, 100],
    ['it costs less than the worst case', 7, 40],
    ['one', 1, 100],
  ]
  for (const [what, n, outputTokens] of rows) {
    const creditUsd = formatUsd(BigInt(n) * costOf(outputTokens))
    const { post, tail, log, stop } = await startEdge(t, { creditUsd, serve: serveOutput(outputTokens) })
    const responses = await Promise.all(Array.from({ length: concurrent }, () => post(ask)))
    t.same(countStatuses(responses), { 200: n, 402: concurrent - n }, what)
    await tail.waitForSequence(await log.lastSequence())
    t.equal(balancePicos(findOrCreateWallet(tail.ledger, workspaceId)), 0n, `${what}: spent to the last digit`)
    await stop()
  }
})

t.test('no money: nobody is answered, nothing is held', async (t) => {
  const { post, tail, calls } = await startEdge(t, { creditUsd: formatUsd(costOf(10)), serve: serveOutput(10) })
  const responses = await Promise.all(Array.from({ length: concurrent }, () => post({ ...ask, n: 128 })))
  t.same(countStatuses(responses), { 402: concurrent })
  t.equal(calls.length, 0)
  t.equal(findOrCreateWallet(tail.ledger, workspaceId).heldPicos, 0n)
})

t.test('no request is ever let in that its allowance does not cover', async (t) => {
  const creditUsd = formatUsd(20n * costOf(100))
  let inFlightPicos = 0n
  let mostPicos = 0n
  const serve: Serve = async function* (call, bill) {
    inFlightPicos += costOf(100)
    if (inFlightPicos > mostPicos) mostPicos = inFlightPicos
    await new Promise((resolve) => setTimeout(resolve, 1))
    await bill({ input: 1, output: 1 })
    inFlightPicos -= costOf(100)
    yield jsonHead(call)
    yield textBytes(completionText)
  }
  const { post, tail } = await startEdge(t, { creditUsd, serve })
  const responses = await Promise.all(Array.from({ length: 200 }, () => post(ask)))
  t.same(countStatuses(responses), { 200: 200 }, 'who waits is served when others end')
  t.ok(mostPicos <= 20n * costOf(100), `at most what the wallet has was in flight: ${mostPicos}`)
  const wallet = findOrCreateWallet(tail.ledger, workspaceId)
  t.ok(availablePicos(wallet) >= 0n)
})

t.test('an idle allowance goes back', async (t) => {
  const { post, tail } = await startEdge(t, { serve: serveOutput(10) })
  t.equal((await post(ask)).status, 200)
  t.ok(findOrCreateWallet(tail.ledger, workspaceId).holds.size > 0)
  await new Promise<void>((resolve) => {
    tail.onApplied((applied) => {
      if (applied.some(({ event }) => event.type === 'HoldReleased')) resolve()
    })
  })
  t.equal(findOrCreateWallet(tail.ledger, workspaceId).heldPicos, 0n)
})

t.test('an edge that stops while the log is away does not wait for it, and tells what stays held', async (t) => {
  const { post, log, logged, stop } = await startEdge(t, {
    serve: serveOutput(10),
    bounds: { stopMs: 100, allowanceReturnMs: 200 },
  })
  t.equal((await post(ask)).status, 200)
  log.appendToWallet = () => new Promise(() => undefined)
  const startedMs = Date.now()
  await stop()
  t.ok(Date.now() - startedMs < admissionLimits.allowanceReturnMs, `stopped in ${Date.now() - startedMs} ms`)
  t.match(logged, [{ level: 'warn', fields: { workspaceId, amount: /^0\.\d+$/, deadline: Date, requests: 0 } }])
})
