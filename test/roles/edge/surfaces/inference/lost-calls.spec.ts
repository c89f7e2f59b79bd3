import t, { type Test } from 'tap'
import { findOrCreateWallet } from '../../../../../src/domain/ledger/ledger.ts'
import { logUnavailable } from '../../../../../src/errors/gateway-error.ts'
import { DispatchLost } from '../../../../../src/roles/dispatch.ts'
import { admissionLimits } from '../../../../../src/roles/edge/admission/limits.ts'
import { sharedLimits } from '../../../../../src/runtime/limits.ts'
import { errorOf, plainAsk, type Serve, startEdge, streamHead, type TestEdge, textBytes } from '../../edge-fixture.ts'

const event = 'data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n'

const noProxy = (): DispatchLost =>
  new DispatchLost('no_available_channel', 'No proxy took the call.', { retryAfterSeconds: 1 })

const brokenOff = (): DispatchLost => new DispatchLost('upstream_stream_interrupted', 'The proxy is gone.')

const failuresOf = ({ log }: TestEdge): readonly object[] =>
  log.events.filter(({ type }) => type === 'RequestFailed').map(({ data }) => data)

/** Every reservation has ended: what it held goes back when the edge stops, long before its deadline. */
const nothingStaysHeld = async (t: Test, { stop, tail }: TestEdge): Promise<void> => {
  await stop()
  t.equal(findOrCreateWallet(tail.ledger, 'acme').holds.size, 0)
}

t.test('a lost call is printed by the name of its class', async (t) => {
  t.match(String(noProxy()), /^DispatchLost: /)
})

t.test('a call that no proxy takes is closed by the edge, and its money is free again', async (t) => {
  for (const refuse of [
    (): never => {
      throw noProxy()
    },
    (): AsyncIterable<never> => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(noProxy()) }) }),
  ]) {
    const edge = await startEdge(t, { serve: refuse })
    const response = await edge.post(plainAsk)
    t.equal(response.status, 503)
    t.equal(response.headers.get('retry-after'), '1')
    t.match(await errorOf(response), { code: 'no_available_channel' })
    await nothingStaysHeld(t, edge)
    t.match(failuresOf(edge), [{ status: 503, reason: 'no_available_channel', attempts: [] }])
  }
})

t.test('a proxy that goes in the middle of a stream: the client is told, the request is closed', async (t) => {
  const serve: Serve = async function* (call) {
    yield streamHead(call)
    yield textBytes(event)
    throw brokenOff()
  }
  const edge = await startEdge(t, { serve })
  t.match(await (await edge.post({ ...plainAsk, stream: true })).text(), /Hello.*upstream_stream_interrupted.*DONE/s)
  await nothingStaysHeld(t, edge)
  t.match(failuresOf(edge), [{ status: 502, reason: 'upstream_stream_interrupted' }])
})

t.test('a proxy that is gone when its client leaves', async (t) => {
  const serve: Serve = async function* (call, _bill, clientGone) {
    yield streamHead(call)
    yield textBytes(event)
    await new Promise((resolve) => clientGone.addEventListener('abort', resolve))
    throw brokenOff()
  }
  const edge = await startEdge(t, { serve })
  const response = await edge.post({ ...plainAsk, stream: true })
  await response.body?.cancel()
  await nothingStaysHeld(t, edge)
  t.match(failuresOf(edge), [{ status: 502, reason: 'upstream_stream_interrupted' }])
})

t.test('a proxy that lived after all: its bill came first, and counts', async (t) => {
  const serve: Serve = async function* (call, bill) {
    yield streamHead(call)
    yield textBytes(event)
    await bill({ input: 10, output: 5 })
    throw brokenOff()
  }
  const edge = await startEdge(t, { serve })
  await (await edge.post({ ...plainAsk, stream: true })).text()
  await nothingStaysHeld(t, edge)
  t.equal(failuresOf(edge).length, 1)
  t.equal(findOrCreateWallet(edge.tail.ledger, 'acme').chargesPicos, 20_000_000n)
})

t.test('an end that cannot be recorded is told to the operator, the error to the client', async (t) => {
  const edge = await startEdge(t, {
    bounds: { stopMs: 100 },
    serve: (): never => {
      edge.log.append = async () => {
        throw logUnavailable()
      }
      throw noProxy()
    },
  })
  const response = await edge.post(plainAsk)
  t.equal(response.status, 503)
  t.match(await errorOf(response), { code: 'no_available_channel' })
  t.match(edge.logged, [{ event: 'request.lost_not_closed' }])
})

t.test('what a proxy itself refuses, it records', async (t) => {
  const serve: Serve = async function* (call, bill) {
    await bill({ input: 1, output: 1 })
    yield streamHead(call)
    throw logUnavailable()
  }
  const edge = await startEdge(t, { serve })
  t.equal((await edge.post({ ...plainAsk, stream: true })).status, 503)
  await nothingStaysHeld(t, edge)
  t.same(failuresOf(edge), [])
})

t.test('an allowance outlives the last request that it covers, and not by much', async (t) => {
  const requestDeadlineMs = 2_000
  const edge = await startEdge(t, { requestDeadlineMs })
  const beforeMs = Date.now()
  t.equal((await edge.post(plainAsk)).status, 200)
  const [placed] = edge.log.events.flatMap((each) => (each.type === 'HoldPlaced' ? [each.data] : []))
  const heldMs = Date.parse(placed?.deadline ?? '') - beforeMs
  const lastsMs = (edge.calls[0]?.deadlineMs ?? 0) - beforeMs
  const { closingAckMs } = sharedLimits,
    { allowanceMarginMs } = admissionLimits
  t.ok(lastsMs >= requestDeadlineMs && lastsMs < requestDeadlineMs + allowanceMarginMs, `a request lasts ${lastsMs} ms`)
  const soonestMs = 2 * requestDeadlineMs + closingAckMs + allowanceMarginMs
  t.ok(heldMs >= soonestMs && heldMs < soonestMs + allowanceMarginMs, `an allowance is held ${heldMs} ms`)
})
