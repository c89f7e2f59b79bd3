import { hash } from 'node:crypto'
import t from 'tap'
import type { ClaimedKey } from '../../../../../src/domain/idempotency/key.ts'
import { findOrCreateWallet } from '../../../../../src/domain/ledger/ledger.ts'
import { spendingOf } from '../../../../../src/domain/wallet/wallet.ts'
import { clientGoneError, GatewayError, logUnavailable } from '../../../../../src/errors/gateway-error.ts'
import { decodeKeyRecord, encodeKeyRecord } from '../../../../../src/roles/edge/admission/idempotency/key-record.ts'
import { admissionLimits } from '../../../../../src/roles/edge/admission/limits.ts'
import { sharedLimits } from '../../../../../src/runtime/limits.ts'
import { until } from '../../../../support/clients.ts'
import { routed, used } from '../../../projector/facts.ts'
import {
  completionText,
  type EdgeOptions,
  errorOf,
  jsonHead,
  plainAsk,
  type Serve,
  secret,
  sheetOf,
  startEdge,
  streamHead,
  type TestEdge,
  textBytes,
  workspaceId,
} from '../../edge-fixture.ts'
import { MemoryOutcomes } from '../../memory-outcomes.ts'

const key = { 'idempotency-key': 'order-7' }
const chargePicos = 20_000_000n

const netPicos = ({ tail }: Pick<TestEdge, 'tail'>): bigint => {
  const { chargesPicos, adjustmentsPicos } = findOrCreateWallet(tail.ledger, workspaceId)
  return chargesPicos - adjustmentsPicos
}

const isRepeat = (response: Response): boolean => response.headers.get('idempotent-replayed') === 'true'

t.test('the same key and body: the same answer, and one charge', async (t) => {
  const edge = await startEdge(t)
  const ask = { ...plainAsk, model: 'gateway/auto' }
  const first = await edge.post(ask, key)
  const again = await edge.post({ messages: ask.messages, model: ask.model }, key)
  t.equal(await first.text(), completionText)
  t.equal(await again.text(), completionText)
  t.notOk(isRepeat(first))
  t.ok(isRepeat(again))
  for (const name of ['content-type', 'x-gateway-request-id', 'x-gateway-router', 'x-gateway-resolved-model'])
    t.equal(again.headers.get(name), first.headers.get(name), name)
  t.equal(again.headers.get('x-gateway-original-request-id'), edge.calls[0]?.requestId)
  t.equal(edge.calls.length, 1)
  await until(() => netPicos(edge) === chargePicos)
})

t.test('the same key for something else', async (t) => {
  const edge = await startEdge(t)
  const first = await edge.post(plainAsk, key)
  await first.text()
  for (const [body, path] of [
    [{ ...plainAsk, temperature: 0 }, '/v1/chat/completions'],
    [{ ...plainAsk, max_tokens: 5 }, '/v1/messages'],
  ] as const) {
    const refused = await edge.post(body, { ...key, 'anthropic-version': '2023-06-01' }, path)
    t.equal(refused.status, 422)
    t.equal(refused.headers.get('x-should-retry'), 'false')
    t.equal(refused.headers.get('x-gateway-original-request-id'), first.headers.get('x-gateway-request-id'))
    t.match(await errorOf(refused), { code: 'idempotency_key_reused', param: 'Idempotency-Key' })
  }
  t.equal(edge.calls.length, 1)
})

t.test('a key that is none', async (t) => {
  const outcomes = new MemoryOutcomes()
  const edge = await startEdge(t, { outcomes })
  for (const name of ['', 'x'.repeat(256), 'caf\u00e9']) {
    const refused = await edge.post(plainAsk, { 'idempotency-key': name })
    t.equal(refused.status, 400)
    t.match(await errorOf(refused), { code: 'invalid_value', param: 'Idempotency-Key' })
  }
  t.equal((await edge.post(plainAsk, { 'idempotency-key': 'x'.repeat(255) })).status, 200)
  t.equal((await edge.post({ model: 'openai/plain' }, key)).status, 400, 'what cannot be asked claims nothing')
  t.equal((await edge.post(plainAsk)).status, 200)
  t.equal(outcomes.puts, 2, 'a claim and its outcome')
})

t.test('while it runs, a repeat is told to come again; its client may have left', async (t) => {
  const { promise: answered, resolve } = Promise.withResolvers<void>()
  const edge = await startEdge(t, {
    serve: async function* (call, bill) {
      await answered
      await bill()
      yield jsonHead(call)
      yield textBytes(completionText)
    },
  })
  const leaving = new AbortController()
  const left = fetch(`${edge.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...key },
    body: JSON.stringify(plainAsk),
    signal: leaving.signal,
  }).catch(() => null)
  await until(() => edge.calls.length === 1)
  const early = await edge.post(plainAsk, key)
  t.equal(early.status, 409)
  t.equal(early.headers.get('x-should-retry'), 'true')
  t.match(early.headers.get('retry-after'), /^[1-9][0-9]*$/)
  t.match(await errorOf(early), { code: 'idempotency_key_in_use' })
  leaving.abort()
  await left
  resolve()
  await until(async () => isRepeat(await edge.post(plainAsk, key)))
  t.equal(await (await edge.post(plainAsk, key)).text(), completionText)
  t.equal(edge.calls.length, 1)
  t.equal(netPicos(edge), chargePicos)
})

t.test('what failed and cost nothing runs anew', async (t) => {
  let fails = true
  const serve: Serve = async function* (call, bill) {
    if (fails) throw new GatewayError('upstream_error', 'Not now.')
    await bill()
    yield jsonHead(call)
    yield textBytes(completionText)
  }
  const edge = await startEdge(t, { serve, sheets: { 'openai/dear': { ...dear } } })
  t.equal((await edge.post({ ...plainAsk, model: 'openai/dear' }, { 'idempotency-key': 'dear' })).status, 402)
  t.equal((await edge.post({ ...plainAsk, model: 'openai/dear' }, { 'idempotency-key': 'dear' })).status, 402)
  t.equal((await edge.post(plainAsk, key)).status, 502)
  fails = false
  const again = await edge.post(plainAsk, key)
  t.equal(again.status, 200)
  t.notOk(isRepeat(again))
  t.ok(isRepeat(await edge.post(plainAsk, key)))
  t.equal(edge.calls.length, 2)
})

t.test('what failed runs anew once its charge is given back', async (t) => {
  const late = Promise.withResolvers<void>()
  const serve: Serve = async function* (call, bill) {
    if (edge.calls.length === 1) {
      void late.promise.then(() => bill())
      throw logUnavailable()
    }
    await bill()
    yield jsonHead(call)
    yield textBytes(completionText)
  }
  const edge = await startEdge(t, { serve })
  t.equal((await edge.post(plainAsk, key)).status, 503)
  const early = await edge.post(plainAsk, key)
  t.match(await errorOf(early), { code: 'idempotency_key_in_use' })
  late.resolve()
  await until(async () => (await edge.post(plainAsk, key)).status === 200)
  t.ok(edge.log.events.some(({ type }) => type === 'AdjustmentPosted'))
  t.equal(edge.calls.length, 2)
  t.equal(netPicos(edge), chargePicos)
})

t.test('a key whose request has no end in time goes to a repeat, which ends it', async (t) => {
  const serve: Serve = async function* (call, bill) {
    if (edge.calls.length === 1) throw logUnavailable()
    await bill()
    yield jsonHead(call)
    yield textBytes(completionText)
  }
  const edge = await startEdge(t, { serve, bounds: { outcomeLeaseMs: 300, outcomeRenewMs: 100 } })
  t.equal((await edge.post(plainAsk, key)).status, 503)
  await until(async () => (await edge.post(plainAsk, key)).status === 200)
  t.ok(edge.log.events.some(({ type }) => type === 'RequestFailed'))
  t.equal(netPicos(edge), chargePicos)
})

t.test('keys of requests that failed take nothing of the quota', async (t) => {
  const outcomes = new MemoryOutcomes()
  const serve: Serve = async function* (call) {
    yield jsonHead(call)
    throw new GatewayError('upstream_error', 'Not now.')
  }
  const oneRoom = admissionLimits.outcomeBytesMax + admissionLimits.outcomeOverheadBytes
  const edge = await startEdge(t, { serve, outcomes, bounds: { workspaceOutcomeBytesMax: oneRoom } })
  for (const name of ['order-1', 'order-2', 'order-3'])
    t.equal((await edge.post(plainAsk, { 'idempotency-key': name })).status, 502)
  t.same(outcomes.all, [])
})

const dear = {
  currency: 'USD',
  per_million_tokens: { input: '1000000000', output: '1' },
  max_output_tokens: 10,
} as const

t.test('without money nothing is claimed, and what was paid is given again', async (t) => {
  const outcomes = new MemoryOutcomes()
  const edge = await startEdge(t, {
    outcomes,
    creditUsd: '0.00001',
    sheets: { 'openai/dear': sheetOf({ per_million_tokens: { input: '1', output: '2000' } }) },
  })
  const dear = { ...plainAsk, model: 'openai/dear' }
  for (const name of ['order-1', 'order-2', 'order-1']) {
    const refused = await edge.post(dear, { 'idempotency-key': name })
    t.equal(refused.status, 402)
    t.match(await errorOf(refused), { code: 'insufficient_user_quota' })
  }
  t.same([outcomes.puts, outcomes.all], [0, []])

  const rich = await startEdge(t, { outcomes })
  t.equal((await rich.post(dear, key)).status, 404)
  t.equal((await rich.post(plainAsk, key)).status, 200)
  t.equal((await edge.post(plainAsk, key)).headers.get('idempotent-replayed'), 'true')
  t.equal((await edge.post({ ...dear, messages: [] }, key)).status, 400)
})

t.test('what was paid is given again after its model is no longer allowed, and nothing new is claimed', async (t) => {
  const outcomes = new MemoryOutcomes()
  const edge = await startEdge(t, { outcomes })
  t.equal((await edge.post(plainAsk, key)).status, 200)
  const limits = { allowedModels: ['openai/other'] }
  const { sequence } = await edge.log.append([{ type: 'LimitsSet', data: { workspaceId, keyId: 'key-1', limits } }])
  await edge.tail.waitForSequence(sequence)
  const again = await edge.post(plainAsk, key)
  t.equal(await again.text(), completionText)
  t.ok(isRepeat(again))
  const { puts } = outcomes
  for (const headers of [{ 'idempotency-key': 'another' }, {}]) {
    const refused = await edge.post(plainAsk, headers)
    t.equal(refused.status, 403)
    t.match(await errorOf(refused), { code: 'model_not_allowed' })
  }
  t.equal(outcomes.puts, puts)
  t.equal(edge.calls.length, 1)
})

t.test('a stream that broke off is not kept', async (t) => {
  const serve: Serve = async function* (call, bill) {
    yield streamHead(call)
    yield textBytes('data: {"choices":[]}\n\n')
    await bill()
    throw new GatewayError('upstream_stream_interrupted', 'It broke off.')
  }
  const edge = await startEdge(t, { serve })
  const ask = { ...plainAsk, stream: true }
  const first = await edge.post(ask, key)
  t.match(await first.text(), /broke off/)
  const again = await edge.post(ask, key)
  t.equal(again.status, 409)
  t.equal(again.headers.get('x-should-retry'), 'false')
  t.equal(again.headers.get('retry-after'), null)
  const requestId = first.headers.get('x-gateway-request-id')
  t.equal(again.headers.get('x-gateway-original-request-id'), requestId)
  const { code, message } = await errorOf(again)
  t.equal(code, 'idempotency_outcome_not_kept')
  t.ok(message.includes(requestId ?? 'none'))
})

t.test(
  'a stream that its client left and nobody read on is not kept either, and one of which nothing was given runs anew',
  async (t) => {
    let isSilent = true
    const serve: Serve = async function* (call, bill, clientGone) {
      if (isSilent) throw new GatewayError('upstream_error', 'Not now.')
      yield streamHead(call)
      while (!clientGone.aborted) {
        yield textBytes('data: {"choices":[]}\n\n')
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      await bill()
      throw clientGoneError()
    }
    const edge = await startEdge(t, { serve })
    const ask = { ...plainAsk, stream: true }
    t.equal((await edge.post(ask, key)).status, 502)
    isSilent = false
    const left = await edge.post(ask, key)
    t.equal(left.status, 200)
    await left.body?.cancel()
    await until(async () => (await errorOf(await edge.post(ask, key))).code === 'idempotency_outcome_not_kept')
    t.equal(edge.calls.length, 2)
  },
)

t.test('a stream that its client left before its head, and that was charged, is not charged again', async (t) => {
  const serve: Serve = async function* (call, bill, clientGone) {
    if (call.requestId === '') yield streamHead(call)
    while (!clientGone.aborted) await new Promise((resolve) => setTimeout(resolve, 5))
    await bill()
    throw clientGoneError()
  }
  const edge = await startEdge(t, { serve })
  const ask = { ...plainAsk, stream: true }
  const client = new AbortController()
  const left = fetch(`${edge.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...key },
    body: JSON.stringify(ask),
    signal: client.signal,
  }).catch((fault: unknown) => fault)
  await until(() => edge.calls.length === 1)
  client.abort()
  await left
  await until(async () => (await errorOf(await edge.post(ask, key))).code === 'idempotency_outcome_not_kept')
  t.equal(edge.calls.length, 1)
})

t.test('an answer that is too large is given and not kept', async (t) => {
  const outcomes = new MemoryOutcomes()
  const large = JSON.stringify({ text: 'x'.repeat(admissionLimits.outcomeBytesMax) })
  const half = Math.ceil(large.length / 2)
  for (const pieces of [[large], [large.slice(0, half), large.slice(half)], [...large.match(/.{1,60000}/g)!]]) {
    const serve: Serve = async function* (call, bill) {
      yield jsonHead(call)
      for (const piece of pieces.slice(0, -1)) yield textBytes(piece)
      await bill()
      yield textBytes(pieces.at(-1)!)
    }
    const edge = await startEdge(t, { serve, outcomes })
    const headers = { 'idempotency-key': `large-${pieces.length}` }
    t.equal(await (await edge.post(plainAsk, headers)).text(), large)
    t.match(await errorOf(await edge.post(plainAsk, headers)), { code: 'idempotency_outcome_not_kept' })
    t.equal(edge.calls.length, 1)
  }
  t.ok(outcomes.all.every(({ bytes }) => bytes.length < 1_000))
})

t.test('large answers of a workspace are stored one after another, and small ones meanwhile', async (t) => {
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  let writing = 0
  const outcomes = new (class extends MemoryOutcomes {
    override async put(...[place, bytes, revision]: Parameters<MemoryOutcomes['put']>) {
      if (bytes.length > sharedLimits.turnBytes) {
        writing += 1
        await goOn
      }
      return super.put(place, bytes, revision)
    }
  })()
  const serve: Serve = async function* (call, bill) {
    await bill()
    yield jsonHead(call)
    yield textBytes(completionText.padEnd(call.body['max_tokens'] === 1 ? 0 : 2 * sharedLimits.turnBytes))
  }
  const edge = await startEdge(t, { serve, outcomes })
  const large = ['one', 'two', 'three'].map((name) => edge.post(plainAsk, { 'idempotency-key': name }))
  await until(() => writing === 1 && edge.calls.length === 3)
  t.equal(await (await edge.post({ ...plainAsk, max_tokens: 1 }, key)).text(), completionText)
  t.equal(writing, 1)
  finish()
  for (const response of await Promise.all(large)) t.equal(response.status, 200)
  t.equal(writing, 3)
})

t.test('with the store away: 503 before anything is spent, and no answer that is not kept', async (t) => {
  const outcomes = new MemoryOutcomes()
  outcomes.isAway = true
  const serve: Serve = async function* (call, bill) {
    outcomes.isAway = true
    await bill()
    yield jsonHead(call)
    yield textBytes(completionText)
  }
  const edge = await startEdge(t, { serve, outcomes })
  const refused = await edge.post(plainAsk, key)
  t.equal(refused.status, 503)
  t.ok(Number(refused.headers.get('retry-after')) >= 1)
  t.equal(edge.calls.length, 0)

  outcomes.isAway = false
  t.equal((await edge.post(plainAsk, key)).status, 503)
  await until(() => findOrCreateWallet(edge.tail.ledger, workspaceId).adjustmentsPicos === chargePicos)
  t.equal(netPicos(edge), 0n, 'what was not delivered is given back')
  outcomes.isAway = false
  await until(() => outcomes.all.every(({ bytes }) => bytes.length === 0))
})

t.test('with the store full: keys are refused, and what runs is answered', async (t) => {
  const outcomes = new MemoryOutcomes()
  const serve: Serve = async function* (call, bill) {
    outcomes.isFull = true
    await bill()
    yield jsonHead(call)
    yield textBytes(completionText.padEnd(2_000))
  }
  const edge = await startEdge(t, { serve, outcomes })
  t.equal((await edge.post(plainAsk, key)).status, 200)
  t.match(await errorOf(await edge.post(plainAsk, key)), { code: 'idempotency_outcome_not_kept' })
  const refused = await edge.post(plainAsk, { 'idempotency-key': 'another' })
  t.equal(refused.status, 503)
  t.equal((await edge.post(plainAsk)).status, 200, 'without a key nothing changes')
  t.equal(edge.calls.length, 2)
})

t.test('acknowledgements that are lost', async (t) => {
  const outcomes = new MemoryOutcomes()
  const serve: Serve = async function* (call, bill) {
    outcomes.losesAck = true
    await bill()
    yield jsonHead(call)
    yield textBytes(completionText)
  }
  const edge = await startEdge(t, { serve, outcomes })
  outcomes.losesAck = true
  t.equal((await edge.post(plainAsk, key)).status, 200)
  t.ok(isRepeat(await edge.post(plainAsk, key)))
  t.equal(edge.calls.length, 1)
})

t.test('a long request renews its claim, with few writes', async (t) => {
  const outcomes = new MemoryOutcomes()
  const edge = await startEdge(t, {
    outcomes,
    bounds: { outcomeLeaseMs: 600, outcomeRenewMs: 400 },
    serve: async function* (call, bill) {
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      await bill()
      yield jsonHead(call)
      yield textBytes(completionText)
    },
  })
  const asked = edge.post(plainAsk, key)
  const codes = new Set<number>()
  const giveUpMs = Date.now() + 1_200
  await until(async () => {
    codes.add((await edge.post(plainAsk, key)).status)
    return Date.now() > giveUpMs
  })
  t.same([...codes], [409])
  t.equal((await asked).status, 200)
  t.equal(edge.calls.length, 1)
})

const lapsed = (edge: TestEdge, stream: boolean): ClaimedKey => {
  const endpoint = '/v1/chat/completions'
  const body = { ...plainAsk, ...(stream ? { stream } : {}) }
  const sorted = JSON.stringify([
    'order-7',
    endpoint,
    {
      messages: body.messages.map(({ role, content }) => ({ content, role })),
      model: body.model,
      ...(stream ? { stream } : {}),
    },
  ])
  return {
    state: 'claimed',
    requestId: edge.calls[0]?.requestId ?? 'never-routed',
    holder: 'gone',
    digest: hash('sha256', sorted),
    work: { type: 'request', keyId: 'key-1', surface: 'chat', stream },
    claimedMs: 0,
    leaseUntilMs: 1,
  }
}

const place = { workspaceId, keyDigest: hash('sha256', 'order-7') }

/** An edge whose first request ended in the log as `serve` ended it, and then lost its process. */
const leaveBehind = async (
  t: Parameters<typeof startEdge>[0],
  stream: boolean,
  first: Serve | null,
  readModels: EdgeOptions['readModels'] = {},
): Promise<TestEdge & { outcomes: MemoryOutcomes }> => {
  const outcomes = new MemoryOutcomes()
  let isFirst = first !== null
  const serve: Serve = (call, bill, clientGone) => {
    const now: Serve = isFirst && first !== null ? first : answer
    isFirst = false
    return now(call, bill, clientGone)
  }
  const edge = await startEdge(t, { serve, outcomes, readModels })
  if (first !== null) await (await edge.post(plainAsk)).text()
  await outcomes.put(place, encodeKeyRecord(lapsed(edge, stream)), 0)
  return { ...edge, outcomes }
}

const answer: Serve = async function* (call, bill) {
  await bill()
  yield call.stream ? streamHead(call) : jsonHead(call)
  yield textBytes(call.stream ? 'data: [DONE]\n\n' : completionText)
}

t.test('left behind, charged, and not kept: given back, and run anew', async (t) => {
  const edge = await leaveBehind(t, false, answer)
  const again = await edge.post(plainAsk, key)
  t.equal(again.status, 200)
  t.notOk(isRepeat(again))
  t.ok(isRepeat(await edge.post(plainAsk, key)))
  t.equal(edge.calls.length, 2)
  await until(() => netPicos(edge) === chargePicos)
  const corrections = edge.log.events.filter(({ type }) => type === 'AdjustmentPosted').map(({ data }) => data)
  t.match(corrections, [{ adjustmentId: `undelivered:${edge.calls[0]?.requestId}`, amount: '0.00002' }])
})

t.test(
  'left behind, charged, and no room for another answer: given back all the same, and the key is free',
  async (t) => {
    const outcomes = new MemoryOutcomes()
    const edge = await startEdge(t, { serve: answer, outcomes, bounds: { workspaceOutcomeBytesMax: 1 } })
    await (await edge.post(plainAsk)).text()
    await outcomes.put(place, encodeKeyRecord(lapsed(edge, false)), 0)
    const again = await edge.post(plainAsk, key)
    t.equal(again.status, 429)
    t.match(await errorOf(again), { code: 'idempotency_quota_exceeded' })
    t.equal(edge.calls.length, 1)
    await until(() => netPicos(edge) === 0n)
    t.same(outcomes.all, [])
  },
)

t.test('left behind as a stream that was charged, and no room for another answer: it stays so', async (t) => {
  const outcomes = new MemoryOutcomes()
  const edge = await startEdge(t, { serve: answer, outcomes, bounds: { workspaceOutcomeBytesMax: 1 } })
  await (await edge.post(plainAsk)).text()
  await outcomes.put(place, encodeKeyRecord(lapsed(edge, true)), 0)
  const again = await edge.post({ ...plainAsk, stream: true }, key)
  t.equal(again.status, 409)
  t.match(await errorOf(again), { code: 'idempotency_outcome_not_kept' })
})

t.test('left behind, and given back to the tag whose limit it counted for', async (t) => {
  const metadata = { team: 'search' }
  const outcomes = new MemoryOutcomes()
  const edge = await startEdge(t, { serve: answer, outcomes, tagNames: ['team'] })
  const limits = { spend: { total: '1' } }
  const { sequence } = await edge.log.append([{ type: 'LimitsSet', data: { workspaceId, tag: 'team=search', limits } }])
  await edge.tail.waitForSequence(sequence)
  await (await edge.post({ ...plainAsk, metadata })).text()
  await outcomes.put(place, encodeKeyRecord(lapsed(edge, false)), 0)
  t.equal((await edge.post(plainAsk, key)).status, 200)
  await until(() => edge.log.events.some(({ type }) => type === 'AdjustmentPosted'))
  const [given] = edge.log.events.flatMap((event) => (event.type === 'AdjustmentPosted' ? [event.data] : []))
  t.match(given, { keyId: 'key-1', tags: metadata, amount: '0.00002' })
  await edge.tail.waitForSequence(await edge.log.lastSequence())
  t.equal(spendingOf(findOrCreateWallet(edge.tail.ledger, workspaceId), 'tag team=search').spent.totalPicos, 0n)
})

t.test('left behind, where the row of the tables names other frames than its own: nothing is given back', async (t) => {
  let sequences: readonly number[] = []
  const edge = await leaveBehind(t, false, answer, {
    findRequestFrames: async () => ({ sequence: 1, value: sequences }),
  })
  const requestId = edge.calls[0]?.requestId ?? ''
  const sequenceOf = (type: string): number =>
    edge.log.frames.find(({ events }) => events.some((event) => event.type === type))?.sequence ?? 0
  const [routedAt, billedAt] = [sequenceOf('RequestRouted'), sequenceOf('UsageRecorded')]
  const second = await edge.log.append([used(requestId, { workspaceId, total: '5' })])
  const others = await edge.log.append([routed('theirs', { workspaceId: 'other' })])
  const theirs = await edge.log.append([used('theirs', { workspaceId: 'other', total: '7' })])
  for (const named of [
    [routedAt, second.sequence],
    [second.sequence, second.sequence],
    [others.sequence, theirs.sequence],
    [routedAt, theirs.sequence],
    [routedAt, 1_000_000],
  ]) {
    sequences = named
    t.match(await errorOf(await edge.post(plainAsk, key)), { code: 'read_models_unavailable' }, `frames ${named}`)
  }
  t.notOk(edge.log.events.some(({ type }) => type === 'AdjustmentPosted'))
  sequences = [routedAt, billedAt]
  t.equal((await edge.post(plainAsk, key)).status, 200)
  const given = edge.log.events.filter(({ type }) => type === 'AdjustmentPosted')
  t.match(given, [{ data: { corrects: requestId, amount: '0.00002' } }])
})

t.test('left behind as a stream that was charged: it stays so', async (t) => {
  const edge = await leaveBehind(t, true, answer)
  const again = await edge.post({ ...plainAsk, stream: true }, key)
  t.equal(again.status, 409)
  t.equal(again.headers.get('x-gateway-original-request-id'), edge.calls[0]?.requestId)
  t.match(await errorOf(again), { code: 'idempotency_outcome_not_kept' })
  t.equal(decodeKeyRecord((await edge.outcomes.find(place)).bytes)?.record.state, 'unkept')
  t.equal(edge.calls.length, 1)
  await until(() => netPicos(edge) === chargePicos)
})

t.test('left behind without an end, or before it was routed: it ends here, and no bill of it counts', async (t) => {
  for (const stream of [false, true])
    for (const first of [null, 'routed'] as const) {
      const edge = await startLeftWithoutEnd(t, first === 'routed', stream)
      const again = await edge.post(stream ? { ...plainAsk, stream } : plainAsk, key)
      t.equal(again.status, 200)
      await again.text()
      await edge.late()
      await until(() => netPicos(edge) >= chargePicos)
      t.equal(netPicos(edge), chargePicos, 'the late bill counts for nothing')
    }
})

const startLeftWithoutEnd = async (t: Parameters<typeof startEdge>[0], isRouted: boolean, stream: boolean) => {
  const never = Promise.withResolvers<void>()
  const late = Promise.withResolvers<void>()
  t.teardown(() => late.resolve())
  let isFirst = isRouted
  const serve: Serve = async function* (call, bill) {
    if (!isFirst) {
      yield* answer(call, bill, new AbortController().signal)
      return
    }
    isFirst = false
    await late.promise
    await bill()
    never.resolve()
    throw new GatewayError('upstream_error', 'Nobody reads this.')
  }
  const outcomes = new MemoryOutcomes()
  const edge = await startEdge(t, {
    serve,
    outcomes,
    readModels: { findRequestFrames: async () => ({ sequence: 1_000_000, value: undefined }) },
  })
  const asked = isRouted ? edge.post(plainAsk) : null
  if (isRouted) await until(() => edge.calls.length === 1)
  await outcomes.put(place, encodeKeyRecord(lapsed(edge, stream)), 0)
  return {
    ...edge,
    late: async () => {
      late.resolve()
      if (asked === null) return
      await never.promise
      await (await asked).text()
    },
  }
}

t.test('with the tables away nothing is guessed', async (t) => {
  const edge = await leaveBehind(t, false, answer)
  const stuck = await startEdge(t, {
    outcomes: edge.outcomes,
    readModels: { findRequestFrames: () => Promise.reject(new Error('connect ECONNREFUSED')) },
  })
  const refused = await stuck.post(plainAsk, key)
  t.equal(refused.status, 503)
  t.ok(Number(refused.headers.get('retry-after')) >= 1)
  t.match(await errorOf(refused), { code: 'read_models_unavailable' })
  t.equal(stuck.calls.length, 0)
  t.equal((await edge.post(plainAsk, key)).status, 200, 'and nobody waits for a lease once they are back')
})

t.test('a slow edge that was taken over delivers nothing', async (t) => {
  const slow = Promise.withResolvers<void>()
  let isFirst = true
  const outcomes = new MemoryOutcomes()
  const edge = await startEdge(t, {
    outcomes,
    serve: async function* (call, bill) {
      const waits = isFirst
      isFirst = false
      if (waits) await slow.promise
      await bill()
      yield jsonHead(call)
      yield textBytes(completionText)
    },
    readModels: { findRequestFrames: async () => ({ sequence: 1_000_000, value: undefined }) },
  })
  const first = edge.post(plainAsk, key)
  await until(() => edge.calls.length === 1)
  const { revision } = await outcomes.find(place)
  await outcomes.put(place, encodeKeyRecord(lapsed(edge, false)), revision)
  t.equal((await edge.post(plainAsk, key)).status, 200)
  slow.resolve()
  const late = await first
  t.equal(late.status, 409)
  t.match(await errorOf(late), { code: 'idempotency_key_in_use' })
  t.ok(isRepeat(await edge.post(plainAsk, key)))
  t.equal(edge.calls.length, 2)
  t.equal(netPicos(edge), chargePicos)
})

t.test('no request is kept, and no key', async (t) => {
  const outcomes = new MemoryOutcomes()
  const edge = await startEdge(t, { outcomes })
  await edge.post({ ...plainAsk, messages: [{ role: 'user', content: 'A secret prompt.' }] }, key)
  const texts = outcomes.all.map(({ bytes }) => Buffer.from(bytes).toString())
  t.equal(texts.length, 1)
  t.notMatch(texts.join(), /secret prompt|order-7/)
})
