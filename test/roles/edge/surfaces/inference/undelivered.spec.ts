import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { findOrCreateWallet } from '../../../../../src/domain/ledger/ledger.ts'
import { spendingOf } from '../../../../../src/domain/wallet/wallet.ts'
import { logUnavailable } from '../../../../../src/errors/gateway-error.ts'
import { AnswerUnread, DispatchLost } from '../../../../../src/roles/dispatch.ts'
import { until } from '../../../../support/clients.ts'
import {
  jsonHead,
  plainAsk,
  type Serve,
  secret,
  startEdge,
  streamHead,
  type TestEdge,
  textBytes,
} from '../../edge-fixture.ts'

const gone = (): DispatchLost => new DispatchLost('upstream_stream_interrupted', 'The proxy is gone.')

const used = { input: 10, output: 5 }
const chargePicos = 20_000_000n

const adjustmentsOf = ({ log }: TestEdge): readonly object[] =>
  log.events.filter(({ type }) => type === 'AdjustmentPosted').map(({ data }) => data)

const balanceOf = ({ tail }: TestEdge): readonly bigint[] => {
  const { chargesPicos, adjustmentsPicos } = findOrCreateWallet(tail.ledger, 'acme')
  return [chargesPicos, adjustmentsPicos]
}

const billedThenLost = (pieces: number): Serve =>
  async function* (call, bill) {
    await bill(used)
    if (pieces > 0) yield call.stream ? streamHead(call) : jsonHead(call)
    for (let piece = 0; piece < pieces; piece += 1) yield textBytes('{"half":')
    throw gone()
  }

t.test('charged and not delivered: taken back, once', async (t) => {
  for (const [what, pieces, stream] of [
    ['a body that never came', 0, false],
    ['a body that came in part', 3, false],
    ['a stream of which nothing came', 0, true],
  ] as const) {
    const edge = await startEdge(t, { serve: billedThenLost(pieces) })
    await edge.post({ ...plainAsk, stream }).then(
      (response) => response.text().catch(() => ''),
      () => '',
    )
    await until(() => adjustmentsOf(edge).length > 0)
    await edge.stop()
    t.same(balanceOf(edge), [chargePicos, chargePicos], what)
    t.match(adjustmentsOf(edge), [{ reason: 'undelivered', workspaceId: 'acme', corrects: edge.calls[0]?.requestId }])
  }
})

/** Pieces of a whole answer, on whose way the first is followed by a pause; the rest is not read in time. */
const broken = (pieces: number, pauseMs: number): Serve =>
  async function* (call, bill) {
    await bill(used)
    yield jsonHead(call)
    for (let piece = 0; piece < pieces; piece += 1) {
      yield textBytes('x'.repeat(256 * 1024))
      if (piece === 0) await delay(pauseMs)
    }
    throw new AnswerUnread('upstream_stream_interrupted', 'The answer was not read in time.')
  }

t.test('a whole answer that was not read in time: taken back unless its reader was what delayed it', async (t) => {
  const slow = await startEdge(t, { serve: broken(100, 0) })
  const response = await slow.post(plainAsk)
  await delay(300) // Its reader asks for nothing.
  await t.rejects(response.text())
  await slow.stop()
  t.same(balanceOf(slow), [chargePicos, 0n])

  const quick = await startEdge(t, { serve: broken(3, 1_000) })
  await t.rejects(quick.post(plainAsk).then((answer) => answer.text()))
  await until(() => adjustmentsOf(quick).length > 0)
  await quick.stop()
  t.same(balanceOf(quick), [chargePicos, chargePicos])
})

t.test('what is taken back is given back to the tag and the end user whose limits it counted for', async (t) => {
  const edge = await startEdge(t, { serve: billedThenLost(0), tagNames: ['team', 'env'] })
  const limits = { spend: { day: '1' } }
  const { sequence } = await edge.log.append([
    { type: 'LimitsSet', data: { workspaceId: 'acme', tag: 'team=search', limits } },
  ])
  await edge.tail.waitForSequence(sequence)
  const metadata = { team: 'search', env: 'prod' }
  t.equal((await edge.post({ ...plainAsk, metadata, user: 'alice' })).status, 502)
  await until(() => adjustmentsOf(edge).length > 0)
  await edge.stop()
  const [adjustment] = adjustmentsOf(edge)
  t.match(adjustment, { amount: '0.00002', keyId: 'key-1', tags: { team: 'search' }, day: /^20/ })
  t.notMatch(adjustment, { endUser: /./ }, 'it has no limits')
  t.notMatch(adjustment, { tags: { env: 'prod' } })
  const { spent, held } = spendingOf(findOrCreateWallet(edge.tail.ledger, 'acme'), 'tag team=search')
  t.same([spent.totalPicos, held.totalPicos], [0n, 0n])
})

t.test('a bill that is stored after its caller was told that there is no answer', async (t) => {
  const late = Promise.withResolvers<void>()
  const serve: Serve = async function* (_call, bill) {
    void late.promise.then(() => bill(used))
    throw logUnavailable()
  }
  const edge = await startEdge(t, { serve })
  t.equal((await edge.post(plainAsk)).status, 503)
  t.same(adjustmentsOf(edge), [], 'nothing was charged yet')
  late.resolve()
  await until(() => adjustmentsOf(edge).length > 0)
  t.same(balanceOf(edge), [chargePicos, chargePicos])
})

t.test('a bill that is stored while the edge stops', async (t) => {
  const late = Promise.withResolvers<void>()
  const serve: Serve = async function* (_call, bill) {
    void late.promise.then(() => bill(used))
    throw logUnavailable()
  }
  const edge = await startEdge(t, { serve, bounds: { stopMs: 100, closingAckMs: 100 } })
  t.equal((await edge.post(plainAsk)).status, 503)
  setTimeout(late.resolve, 500) // After both bounds.
  await edge.stop()
  t.same(balanceOf(edge), [chargePicos, chargePicos])
})

t.test(
  'a bill that comes after the edge has ended the request counts for nothing, and nothing is given for it',
  async (t) => {
    const late = Promise.withResolvers<void>()
    const billed = Promise.withResolvers<void>()
    const serve: Serve = async function* (_call, bill) {
      void late.promise.then(() => bill(used)).then(billed.resolve)
      throw gone()
    }
    const edge = await startEdge(t, { serve })
    t.equal((await edge.post(plainAsk)).status, 502)
    await until(() => edge.log.events.some(({ type }) => type === 'RequestFailed'))
    late.resolve()
    await billed.promise
    await edge.stop()
    t.same(adjustmentsOf(edge), [])
    t.same(balanceOf(edge), [0n, 0n])
  },
)

t.test('what was delivered, or left alone by its caller, stays charged', async (t) => {
  const delivered = await startEdge(t, { serve: billedThenLost(1) })
  await (await delivered.post({ ...plainAsk, stream: true })).text()
  await delivered.stop()
  t.same(balanceOf(delivered), [chargePicos, 0n], 'a stream of which something came')

  const left = await startEdge(t, {
    serve: async function* (_call, bill, clientGone) {
      await new Promise((resolve) => clientGone.addEventListener('abort', resolve))
      await bill(used)
      throw gone()
    },
  })
  const leaving = new AbortController()
  const asked = fetch(`${left.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(plainAsk),
    signal: leaving.signal,
  }).catch(() => null)
  await until(() => left.calls.length > 0)
  leaving.abort()
  await asked
  await until(() => balanceOf(left)[0] === chargePicos)
  await left.stop()
  t.same(balanceOf(left), [chargePicos, 0n], 'a caller that went first')
})
