import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Ajv } from 'ajv'
import t, { type Test } from 'tap'
import { sendUsageEvents } from '../../src/cli/usage-events.ts'
import { credited, opened, routed, used } from '../roles/projector/facts.ts'
import { MemoryLog } from '../support/memory-log.ts'

const requests = 250
const perFrame = 3
const names = Array.from({ length: requests }, (_, number) => `request-${number}`)
const log = new MemoryLog()
await log.append([opened()])
await log.postToWallet('acme', [credited('first', '10')])
for (let first = 0; first < requests; first += perFrame)
  await log.append(
    names.slice(first, first + perFrame).flatMap((id) => [routed(id, { tags: { team: 'a' } }), used(id)]),
  )
const source = { frames: log, to: log.frames.length }

const schemas = JSON.parse(await readFile(new URL('../reference/usage-events.schema.json', import.meta.url), 'utf8'))
const ajv = new Ajv({ strict: false, formats: { 'date-time': true, uri: true } })
const checks = { cloudevents: ajv.compile(schemas.cloudevents), lago: ajv.compile(schemas.lago) }
type Format = keyof typeof checks
const contentTypes = { cloudevents: 'application/cloudevents-batch+json', lago: 'application/json' }
const noWait = () => Promise.resolve()

interface Received {
  readonly id: string
  readonly event: string
}

/** Takes what the published schema allows, and does as `behave` says of each call: a status, or null to break it off. */
const listen = async (t: Test, format: Format, behave: (call: number, ids: readonly string[]) => number | null) => {
  const received: Received[] = []
  const tokens = new Set<string | undefined>()
  let calls = 0
  const server: Server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request))
    calls += 1
    tokens.add(request.headers.authorization)
    const events: readonly Record<string, unknown>[] = format === 'lago' ? body.events : body
    const ids = events.map((event) => String(event[format === 'lago' ? 'transaction_id' : 'id']))
    const isGood =
      checks[format](body) && events.length <= 100 && request.headers['content-type'] === contentTypes[format]
    const status = isGood ? behave(calls, ids) : 400
    if (status !== null && status < 300)
      received.push(...events.map((event, place) => ({ id: ids[place]!, event: JSON.stringify(event) })))
    if (status === null) request.socket.destroy()
    else response.writeHead(status).end()
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`
  return { url, received, tokens, receiver: { format, url, token: 'secret', wait: noWait } }
}

const idsOf = (received: readonly Received[]) => [...new Set(received.map(({ id }) => id))].toSorted()
/** Doubles are the same event. */
const distinct = (received: readonly Received[]) => new Set(received.map(({ event }) => event)).size

for (const format of ['cloudevents', 'lago'] as const)
  t.test(`${format}: a receiver that fails, refuses for a while and breaks off gets every event`, async (t) => {
    const faults = [null, 500, 429, null, 503]
    const { receiver, received, tokens } = await listen(t, format, (call) => (call % 5 === 0 ? 200 : faults[call % 5]!))
    const positions: number[] = []
    t.equal(await sendUsageEvents(source, 1, receiver, (next) => void positions.push(next)), requests)
    t.same(idsOf(received), names.toSorted())
    t.equal(distinct(received), requests)
    t.same(tokens, new Set(['Bearer secret']))
    t.equal(positions.at(-1), source.to + 1)
    const before = received.length
    t.equal(await sendUsageEvents(source, positions.at(-1)!, receiver, () => {}), 0, 'nothing is left')
    t.equal(received.length, before)
  })

t.test('a run that ends in the middle goes on from its position', async (t) => {
  let isDown = false
  const { receiver, received } = await listen(t, 'cloudevents', (call) => {
    isDown ||= call === 2
    return isDown ? null : 200
  })
  let position = 1
  const keep = (next: number) => {
    position = next
  }
  await t.rejects(sendUsageEvents(source, position, receiver, keep), {
    message: /8 attempts ended with no answer.*request-100/,
  })
  t.ok(position > 1)
  const again = await listen(t, 'cloudevents', () => 200)
  await sendUsageEvents(source, position, again.receiver, keep)
  const all = [...received, ...again.received]
  t.same(idsOf(all), names.toSorted(), 'nothing is lost')
  t.equal(distinct(all), requests, 'a double is the same event')
})

t.test('an answer that comes too late is one that did not come', async (t) => {
  const { receiver, received } = await listen(t, 'lago', () => 200)
  let calls = 0
  const slow = createServer(async (request, response) => {
    const body = await text(request)
    calls += 1
    const answer = await fetch(receiver.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    setTimeout(() => response.writeHead(answer.status).end(), calls === 1 ? 2_000 : 0)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => slow.once('listening', resolve))
  t.teardown(() => slow.close())
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`
  await sendUsageEvents(source, 1, { ...receiver, url, answerTimeoutMs: 500 }, () => {})
  t.ok(received.length > requests, 'a batch came twice')
  t.same(idsOf(received), names.toSorted())
  t.equal(distinct(received), requests)
})

t.test('a refused event is named, after those before it were sent', async (t) => {
  const { receiver, received } = await listen(t, 'cloudevents', (_, ids) => (ids.includes('request-137') ? 422 : 200))
  await t.rejects(
    sendUsageEvents(source, 1, receiver, () => {}),
    {
      message: 'the receiver refused the event request-137: status 422',
    },
  )
  t.same(idsOf(received), names.slice(0, 137).toSorted())
  const closed = await listen(t, 'cloudevents', () => 401)
  await t.rejects(
    sendUsageEvents(source, 1, closed.receiver, () => {}),
    { message: /request-0: status 401/ },
  )
  t.equal(closed.received.length, 0)
})

t.test('lago, which refuses a batch with an event that it has, gets the others of it', async (t) => {
  const stored = new Set<string>()
  const bad = 'request-137'
  let [isBadRefused, breaksOff] = [false, true]
  const lago = createServer(async (request, response) => {
    const { events } = JSON.parse(await text(request)) as { readonly events: readonly { transaction_id: string }[] }
    const problems = events.map(({ transaction_id: id }) => {
      if (stored.has(id)) return { transaction_id: ['value_already_exist'] }
      return isBadRefused && id === bad ? { code: ['value_is_invalid'] } : null
    })
    const details = Object.fromEntries(Object.entries(problems).filter(([, problem]) => problem !== null))
    const isRefused = Object.keys(details).length > 0
    if (!isRefused) for (const { transaction_id: id } of events) stored.add(id)
    if (breaksOff)
      request.socket.destroy() // It has the batch, and its answer is lost.
    else if (isRefused) response.writeHead(422).end(JSON.stringify({ status: 422, error_details: details }))
    else response.writeHead(200).end('{"events": []}')
    breaksOff = false
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => lago.once('listening', resolve))
  t.teardown(() => lago.close())
  const url = `http://127.0.0.1:${(lago.address() as AddressInfo).port}/`
  const send = () => sendUsageEvents(source, 1, { format: 'lago', url, token: '', wait: noWait }, () => {})
  t.equal(await send(), requests)
  t.same([...stored].toSorted(), names.toSorted())
  stored.delete(bad)
  t.equal(await send(), requests, 'sent again, it lacks nothing')
  t.ok(stored.has(bad))
  stored.delete(bad)
  isBadRefused = true
  await t.rejects(send(), { message: `the receiver refused the event ${bad}: status 422` })
})
