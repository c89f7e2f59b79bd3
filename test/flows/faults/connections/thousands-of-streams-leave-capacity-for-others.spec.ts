import { once } from 'node:events'
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import t from 'tap'
import { admissionLimits } from '../../../../src/roles/edge/admission/limits.ts'
import { residentBytes } from '../../../bench/procfs.ts'
import { chatBody, until } from '../../../support/clients.ts'
import { startGatewayApart } from '../../../support/gateway-apart.ts'
import { beginStream, closingEvents, startHostileUpstream, wordsEvent } from '../../../support/hostile-upstream.ts'
import { scrape } from '../../../support/metrics.ts'

/** None: the short form, with smaller bounds. */
const asked = Number(process.env['FAULTS_STREAMS'] ?? 0)
const isShort = asked === 0
const streams = isShort ? 300 : asked
const own = { openRequestsMax: 200, workspaceOpenRequestsMax: 150 }
const { openRequestsMax, workspaceOpenRequestsMax } = isShort ? own : admissionLimits
const bytesPerStreamMax = 512 * 1024
/** Of V8: it fills up with what any requests leave, however many there are. */
const newGenerationBytes = 64 * 2 ** 20

t.test(`one workspace opens ${streams} streams`, async (t) => {
  const held = new Set<ServerResponse>()
  const upstreamUrl = await startHostileUpstream(t, {
    held: (response) => {
      beginStream(response)
      response.write(wordsEvent('x'))
      held.add(response)
    },
    plain: (response) => {
      beginStream(response)
      response.end(wordsEvent('x') + closingEvents(7, 1))
    },
  })
  const running = await startGatewayApart(t, {
    upstreamUrl,
    models: { held: 'held' },
    bounds: isShort ? { edge: own } : {},
  })
  const { process: gateway, operator, account } = running
  const other = await operator.openAccount('other', '100')
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
  t.teardown(() => agent.destroy())
  const open = async (secret: string, model: string): Promise<IncomingMessage> => {
    const sent = request(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      agent,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    })
    sent.end(chatBody(`openai/${model}`, true, 12))
    const [response] = await once(sent, 'response')
    return response
  }
  const openMany = (count: number, secret: string): Promise<readonly IncomingMessage[]> =>
    Promise.all(Array.from({ length: count }, () => open(secret, 'held')))
  const countOf = (answers: readonly IncomingMessage[], status: number): number =>
    answers.filter(({ statusCode }) => statusCode === status).length
  const textOf = async (answer: IncomingMessage): Promise<string> => Buffer.concat(await answer.toArray()).toString()

  const beforeBytes = residentBytes(gateway.pid)
  const room = openRequestsMax - workspaceOpenRequestsMax
  const answers: IncomingMessage[] = []
  // No more at once than the edge has room for: beyond, what it answers is that it is full.
  while (answers.length < streams) {
    const count = answers.length === 0 ? openRequestsMax : room
    answers.push(...(await openMany(Math.min(count, streams - answers.length), account.secret)))
  }
  const refused = answers.filter(({ statusCode }) => statusCode === 429)
  t.equal(countOf(answers, 200), workspaceOpenRequestsMax)
  const unexpected = answers.filter(({ statusCode }) => statusCode !== 200 && statusCode !== 429)
  const texts = await Promise.all(unexpected.map(textOf))
  // A machine that is too busy to sync the log in time refuses those that come first, of any workspace.
  t.same(
    texts.filter((text) => !text.includes('"log_unavailable"')),
    [],
    'the others are refused',
  )
  t.ok(refused.every(({ headers }) => Number(headers['retry-after']) >= 1))
  for (const text of await Promise.all(refused.map(textOf)))
    if (!text.includes('"concurrency_limit_exceeded"')) t.fail(text)
  await until(() => held.size === workspaceOpenRequestsMax)
  const metrics = await scrape(gateway.observeUrl)
  t.equal(metrics.value('gateway_streams_open'), workspaceOpenRequestsMax)
  t.comment('gateway_connections_open', metrics.value('gateway_connections_open'))
  const afterBytes = residentBytes(gateway.pid)
  if (beforeBytes !== null && afterBytes !== null) {
    const each = (afterBytes - beforeBytes - newGenerationBytes) / workspaceOpenRequestsMax
    t.comment(
      `resident: ${Math.round(beforeBytes / 2 ** 20)} MB before, ${Math.round(afterBytes / 2 ** 20)} MB with the streams`,
    )
    t.comment(`${Math.round(each / 1024)} KB a stream, one process for all roles`)
    t.ok(each < bytesPerStreamMax, 'memory is bounded')
  }
  t.match(await textOf(await open(other.secret, 'plain')), /\[DONE\]/, 'another workspace is served meanwhile')

  const others = isShort ? await openMany(room + 10, other.secret) : []
  if (isShort) {
    t.equal(countOf(others, 200), room, 'a full edge serves as many as it can')
    const [full] = others.filter(({ statusCode }) => statusCode === 503)
    t.ok(Number(full?.headers['retry-after']) >= 1)
    t.match(await textOf(full!), /"no_available_channel"/)
    t.equal((await fetch(`${gateway.url}/readyz`)).status, 200, 'it can still be asked how it is')
  }

  const served = [...answers, ...others].filter(({ statusCode }) => statusCode === 200)
  await until(() => held.size === served.length)
  for (const response of held) response.end(closingEvents(7, 1))
  for (const text of await Promise.all(served.map(textOf))) if (!text.includes('[DONE]')) t.fail(text)
  await operator.caughtUp()
  const bills = (await operator.events()).filter(({ type }) => type === 'UsageRecorded')
  t.equal(bills.length, served.length + 1, 'each that was served is charged')
  t.equal(new Set(bills.map(({ data }) => 'requestId' in data && data.requestId)).size, bills.length, 'once')
  await until(async () => (await scrape(gateway.observeUrl)).value('gateway_streams_open') === 0)
  const again = await open(account.secret, 'plain')
  t.equal(again.statusCode, 200, 'and there is room again')
  await textOf(again)
})
