import { hash } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import type { Fact } from '../../src/events/envelope.ts'
import { readLimits } from '../../src/read-api/limits.ts'
import type { AdminIdentity } from '../../src/roles/edge/http/authenticate.ts'
import { listenerLimits } from '../../src/roles/edge/http/limits.ts'
import { openSession } from '../roles/edge/browser-session.ts'
import { errorOf, secret, startEdge, type TestEdge, workspaceId } from '../roles/edge/edge-fixture.ts'
import { credited, keyIssued, opened } from '../roles/projector/facts.ts'
import { until } from '../support/clients.ts'

const token = 'a-token-of-ana-that-nobody-can-guess'
const admins = [{ name: 'ana', sha256: hash('sha256', token), role: 'owner' as const }]

interface Follower {
  readonly status: number
  /** What came, as it is written. */
  text: string
  isOver: boolean
  leave(): void
}

const follow = async (from: string, bearer: string): Promise<Follower> =>
  followWith(from, { authorization: `Bearer ${bearer}` })

const followWith = async (from: string, headers: Readonly<Record<string, string>>): Promise<Follower> => {
  const leaving = new AbortController()
  const response = await fetch(from, { headers, signal: leaving.signal })
  const follower: Follower = { status: response.status, text: '', isOver: false, leave: () => leaving.abort() }
  const read = async (): Promise<void> => {
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) follower.text += piece
  }
  void read()
    .catch(() => undefined)
    .finally(() => {
      follower.isOver = true
    })
  return follower
}

const ownTail = ({ url }: TestEdge): string => `${url}/v1/ledger/tail`
const sold = (model: string): Fact => ({
  type: 'PricePublished',
  data: {
    model,
    version: 'v9',
    effectiveFrom: '2026-01-01T00:00:00Z',
    source: 'a test',
    sheet: { currency: 'USD', per_million_tokens: { input: '1', output: '2' }, max_output_tokens: 10 },
  },
})

t.test('what is written is told to whom it concerns, and no secret of it', async (t) => {
  const edge = await startEdge(t, { admins })
  const mine = await follow(ownTail(edge), secret)
  const every = await follow(`${edge.url}/admin/v1/ledger/tail`, token)
  await edge.log.append([opened('beta'), keyIssued('key-9')])
  await edge.log.postToWallet('beta', [credited('of-beta', '5', 'beta')])
  await edge.log.append([sold('openai/new')])
  await edge.log.postToWallet(workspaceId, [credited('of-acme', '0.000000000001')])
  await until(() => mine.text.includes('of-acme') && every.text.includes('of-acme'))
  t.match(mine.text, /^event: position\ndata: \{\}\n\n/)
  t.match(every.text, /^event: position\ndata: \{"sequence":\d+\}\n\n/)
  t.match(every.text, /id: \d+-0\nevent: event\n.*"sequence":\d+,"index":0/)
  t.notMatch(mine.text, /id: |"sequence"|"index"/)
  t.match(mine.text, /event: event\ndata: \{.*"type":"WalletCredited".*"amount":"0\.000000000001"/)
  t.match(mine.text, /"type":"KeyIssued"/)
  t.notMatch(mine.text, 'beta')
  t.notMatch(mine.text, 'openai/new')
  t.notMatch(mine.text, 'sha256')
  t.match(every.text, 'of-beta')
  t.match(every.text, 'openai/new')
  mine.leave()
  every.leave()
})

t.test('who administers is told to administrators alone', async (t) => {
  const edge = await startEdge(t, { admins })
  const mine = await follow(ownTail(edge), secret)
  const administered = await follow(`${edge.url}/admin/v1/workspaces/${workspaceId}/ledger/tail`, token)
  const issued = await fetch(`${edge.url}/admin/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ workspace: workspaceId, name: 'another' }),
  })
  t.equal(issued.ok, true)
  await until(() => mine.text.includes('KeyIssued') && administered.text.includes('KeyIssued'))
  t.match(mine.text, /"type":"KeyIssued".*"actor":null/)
  t.notMatch(mine.text, 'admin:ana')
  t.match(administered.text, /"type":"KeyIssued".*"actor":"admin:ana"/)
  mine.leave()
  administered.leave()
})

t.test("alerts, which may have a figure of all workspaces, are the administrators' alone", async (t) => {
  const edge = await startEdge(t, { admins })
  const mine = await follow(ownTail(edge), secret)
  const administered = await follow(`${edge.url}/admin/v1/workspaces/${workspaceId}/ledger/tail`, token)
  const rule = {
    workspaceId,
    rule: 'invoices',
    measure: 'unreconciled' as const,
    threshold: '10',
    destinations: ['ops'],
  }
  const alertId = `${workspaceId}:invoices:2026-11-27:10`
  await edge.log.postToWallet(workspaceId, [
    { type: 'AlertRuleSet', data: rule },
    { type: 'AlertRaised', data: { ...rule, alertId, figure: '1234.5', period: '2026-11-27' } },
    { type: 'AlertDelivered', data: { workspaceId, rule: 'invoices', alertId, destination: 'ops' } },
    { type: 'AlertRuleRemoved', data: { workspaceId, rule: 'invoices' } },
    credited('later'),
  ])
  await until(() => mine.text.includes('later') && administered.text.includes('later'))
  t.match(administered.text, /"type":"AlertRaised".*"figure":"1234\.5"/)
  t.notMatch(mine.text, 'Alert')
  mine.leave()
  administered.leave()
})

t.test("who adjusts, and what is not posted yet, are the administrators' alone", async (t) => {
  const edge = await startEdge(t, { admins })
  const mine = await follow(ownTail(edge), secret)
  const administered = await follow(`${edge.url}/admin/v1/workspaces/${workspaceId}/ledger/tail`, token)
  const own = { workspaceId, adjustmentId: 'adjustment-1' }
  const posted = { ...own, amount: '77', reason: 'goodwill', note: 'a remark' } as const
  const proposed = { ...posted, reference: 'ref-1', by: 'admin:ana', expiresAt: '2027-01-01T00:00:00Z' }
  await edge.log.postToWallet(workspaceId, [
    { type: 'AdjustmentProposed', data: proposed },
    { type: 'AdjustmentRejected', data: { ...own, by: 'admin:ben' } },
    { type: 'AdjustmentApproved', data: { ...own, by: 'admin:ben' } },
    { type: 'AdjustmentPosted', data: { ...posted, by: 'admin:ana' } },
    credited('later'),
  ])
  await until(() => mine.text.includes('later') && administered.text.includes('later'))
  t.match(administered.text, /"type":"AdjustmentProposed"/)
  t.match(mine.text, /"type":"AdjustmentPosted".*"amount":"77"/)
  t.notMatch(mine.text, /Adjustment(?:Proposed|Approved|Rejected)|admin:/)
  mine.leave()
  administered.leave()
})

t.test('a key that is revoked meanwhile is told nothing more', async (t) => {
  const edge = await startEdge(t)
  const tail = await follow(ownTail(edge), secret)
  await edge.log.append([{ type: 'KeyRevoked', data: { keyId: 'key-1', workspaceId } }])
  await edge.log.postToWallet(workspaceId, [credited('later')])
  await until(() => tail.isOver)
  t.match(tail.text, /event: end\ndata: \{"reason":"key"\}/)
  t.notMatch(tail.text, 'later')
})

t.test('an edge that stops does not wait for who follows it', async (t) => {
  const edge = await startEdge(t, { bounds: { stopMs: 60_000 } })
  const tail = await follow(ownTail(edge), secret)
  await edge.stop()
  await until(() => tail.isOver)
  t.match(tail.text, /event: end\ndata: \{"reason":"stop"\}/)
})

t.test('no tail is open for ever: its reader connects again', async (t) => {
  const edge = await startEdge(t, { bounds: { liveTailMs: 50 } })
  const tail = await follow(ownTail(edge), secret)
  await until(() => tail.isOver)
  t.match(tail.text, /event: end\ndata: \{"reason":"time"\}\n\n$/)
})

t.test('who reads too slowly is told how much was left out, and nothing is kept for them', async (t) => {
  const edge = await startEdge(t)
  const response = await new Promise<IncomingMessage>((resolve) =>
    get(ownTail(edge), { headers: { authorization: `Bearer ${secret}` } }, resolve),
  )
  const frames = 100
  const eventsOfFrame = 500
  for (let frame = 0; frame < frames; frame += 1)
    await edge.log.postToWallet(
      workspaceId,
      Array.from({ length: eventsOfFrame }, (_, place) => credited(`${'x'.repeat(150)}-${frame}-${place}`, '0.1')),
    )
  await edge.tail.waitForSequence(await edge.log.lastSequence())
  let text = ''
  response.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  await until(() => text.includes('event: missed'))
  const missed = Number(/event: missed\ndata: \{"events":(\d+)\}/.exec(text)?.[1])
  const told = text.split('event: event\n').length - 1
  t.ok(missed > 0)
  t.equal(told + missed, frames * eventsOfFrame)
  response.destroy()
})

t.test('a reader that reads nothing is disconnected, whatever it sends', async (t) => {
  const edge = await startEdge(t, { requestLines: true, bounds: { clientStallMs: 300 } })
  const socket = connect(edge.port, '127.0.0.1')
  const sending = setInterval(() => socket.write('\r\n'), 50)
  t.teardown(() => {
    clearInterval(sending)
    socket.destroy()
  })
  socket.on('error', () => undefined).pause()
  socket.write(`GET /v1/ledger/tail HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n\r\n`)
  const events = Array.from({ length: 200 }, (_, place) => credited(`${'x'.repeat(150)}-${place}`, '0.1'))
  // Only what its sockets hold is written: the rest is dropped.
  await until(async () => {
    await edge.log.postToWallet(workspaceId, events)
    return edge.logged.some(({ event, fields }) => event === 'request.served' && 'cut' in fields)
  })
})

t.test('it stays open while nothing happens', async (t) => {
  const edge = await startEdge(t, { bounds: { keepAliveCommentMs: 20 } })
  const tail = await follow(ownTail(edge), secret)
  await until(() => tail.text.includes(': keep-alive'))
  t.notOk(tail.isOver)
  tail.leave()
})

t.test('whoever asks for the head alone has it, and follows nothing', async (t) => {
  const { url } = await startEdge(t)
  for (let asked = 0; asked <= readLimits.tailsOfOneMax; asked += 1) {
    const response = await fetch(`${url}/v1/ledger/tail`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${secret}` },
      signal: AbortSignal.timeout(30_000),
    })
    t.equal(response.status, 200)
    t.match(response.headers.get('content-type'), 'text/event-stream')
  }
})

t.test('so many of a workspace follow at once and no more, and others may still', async (t) => {
  const edge = await startEdge(t, { admins })
  const tails = await Promise.all(Array.from({ length: readLimits.tailsOfOneMax }, () => follow(ownTail(edge), secret)))
  const refused = await fetch(ownTail(edge), { headers: { authorization: `Bearer ${secret}` } })
  t.match({ status: refused.status, ...(await errorOf(refused)) }, { status: 429, code: 'concurrency_limit_exceeded' })
  const other = await follow(`${edge.url}/admin/v1/ledger/tail`, token)
  t.equal(other.status, 200)
  tails[0]!.leave()
  let again = await follow(ownTail(edge), secret)
  await until(async () => {
    if (again.status !== 200) again = await follow(ownTail(edge), secret)
    return again.status === 200
  })
  for (const tail of [...tails, again, other]) tail.leave()
})

t.test('workspaces that open all they may leave room for others, and for administrators', async (t) => {
  const edge = await startEdge(t, { admins })
  const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']
  await edge.log.append(
    names.flatMap((name) => {
      const key = keyIssued(`key-of-${name}`, name)
      return [opened(name), { ...key, data: { ...key.data, sha256: hash('sha256', `sk-of-${name}`) } }]
    }),
  )
  const tails: Follower[] = []
  const openAll = async (name: string): Promise<number> => {
    for (let count = 0; ; count += 1) {
      const tail = await follow(ownTail(edge), `sk-of-${name}`)
      if (tail.status !== 200) return count
      tails.push(tail)
    }
  }
  await until(async () => (await openAll('one')) > 0 || tails.length > 0)
  const counts = [tails.length]
  for (const name of names.slice(1, 4)) counts.push(await openAll(name))
  t.equal(counts[0], readLimits.tailsOfOneMax)
  t.ok(counts[3]! < readLimits.tailsOfOneMax, 'the last places are for others')
  for (const name of names.slice(4)) await openAll(name)
  t.equal(tails.length, readLimits.tailsMax)
  t.ok((await openAll('five')) === 0)
  const administrators = await Promise.all([
    follow(`${edge.url}/admin/v1/ledger/tail`, token),
    follow(`${edge.url}/admin/v1/workspaces/one/ledger/tail`, token),
  ])
  t.same(
    administrators.map(({ status }) => status),
    [200, 200],
  )
  for (const tail of [...tails, ...administrators]) tail.leave()
})

t.test("an administrator's tail ends with the token, its role, or the session", async (t) => {
  let nowMs = Date.now()
  const configured: AdminIdentity[] = [{ ...admins[0]!, role: 'owner' }]
  const edge = await startEdge(t, { admins: configured, clock: () => nowMs })
  const everyTail = `${edge.url}/admin/v1/ledger/tail`
  const grow = () => edge.log.append([sold('openai/new')])
  const endedBy = async (change: () => void): Promise<void> => {
    const followers = [await follow(everyTail, token), await followWith(everyTail, await openSession(edge.url, token))]
    await grow()
    await until(() => followers.every(({ text }) => text.includes('openai/new')))
    change()
    await grow()
    await until(() => followers.every(({ isOver }) => isOver))
    for (const { text } of followers) t.match(text, /event: end\ndata: \{"reason":"key"\}\n\n$/)
  }
  await endedBy(() => {
    configured[0] = { ...admins[0]!, role: 'support' }
  })
  configured[0] = { ...admins[0]!, role: 'owner' }
  await endedBy(() => configured.pop())
  configured.push({ ...admins[0]!, role: 'owner' })

  const session = await followWith(everyTail, await openSession(edge.url, token))
  nowMs += listenerLimits.sessionMs
  await grow()
  await until(() => session.isOver)
  t.match(session.text, /event: end\ndata: \{"reason":"key"\}\n\n$/)
})
