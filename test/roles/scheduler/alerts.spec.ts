import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import t, { type Test } from 'tap'
import { UndiciClient } from '../../../src/adapters/http/client.ts'
import { sendMail } from '../../../src/adapters/smtp/send-mail.ts'
import { initialLedger } from '../../../src/domain/ledger/ledger.ts'
import { walletLimits } from '../../../src/domain/wallet/limits.ts'
import type { Fact } from '../../../src/events/envelope.ts'
import { LedgerTail } from '../../../src/log/ledger-tail.ts'
import { schedulerLimits } from '../../../src/roles/scheduler/limits.ts'
import { scheduler } from '../../../src/roles/scheduler/role.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { makeCertificates } from '../../support/certificates.ts'
import { until } from '../../support/clients.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { isSigned, startReceiver } from '../../support/receiver.ts'
import { credited, keyIssued, opened, routed, used, workspaceId } from '../projector/facts.ts'

const secret = `whsec_${Buffer.from('a-secret-of-a-test').toString('base64')}`

type Destinations = ReturnType<NonNullable<Parameters<typeof scheduler.start>[0]['alerting']>['destinations']>

const start = async (t: Test, mail: Destinations = new Map()) => {
  let nowMs = Date.now()
  const receiver = await startReceiver(t)
  const log = new MemoryLog({ timeOf: () => new Date(nowMs).toISOString(), checksSchemas: true })
  const destinations = new Map([
    ['ops', { type: 'webhook', url: `${receiver.url}/ops`, secret }],
    ['team', { type: 'slack', url: `${receiver.url}/team` }],
    ...mail,
  ] as const)
  const http = new UndiciClient()
  t.teardown(() => http.stop())
  const spend = (id: string, total: string) => log.append([routed(id, { allowanceId: null }), used(id, { total })])
  await log.postToWallet(workspaceId, [opened(), credited('c-1'), keyIssued('key-1')])
  const watch = (...destinationNames: string[]) => {
    const data = {
      workspaceId,
      rule: 'day',
      measure: 'spend_day',
      threshold: '1',
      destinations: destinationNames,
    } as const
    return log.postToWallet(workspaceId, [{ type: 'AlertRuleSet', data }])
  }
  const open = async (own: MemoryLog = log) => {
    const tail = new LedgerTail(initialLedger(), log)
    await tail.waitForSequence(await log.lastSequence())
    const logger = recordingLogger()
    const clock = () => nowMs
    const running = await scheduler.start({
      ...{ log: own, tail, sealing: null, clock, steadyClock: clock, logger },
      requestDeadlineMs: sharedLimits.requestDeadlineMs,
      alerting: { destinations: () => destinations, http, sendMail, tickMs: 5 },
    })
    const stop = async () => {
      await running.stop()
      await tail.stop()
    }
    t.teardown(stop)
    return { stop, codes: () => logger.lines.map(({ event }) => event) }
  }
  const events = (type: Fact['type']) => log.events.filter((event) => event.type === type)
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { receiver, log, spend, watch, open, events, advance }
}

t.test('two schedulers raise one alert; it is signed, and raised again in the next day', async (t) => {
  const { receiver, spend, watch, open, events, advance } = await start(t)
  await watch('ops', 'team')
  await Promise.all([open(), open()])
  await spend('r-1', '1.25')
  await until(() => events('AlertDelivered').length === 2)
  t.equal(events('AlertRaised').length, 1)
  const [ops] = receiver.delivered.filter(({ path }) => path === '/ops')
  const [raised] = events('AlertRaised')
  t.match(raised?.data, { figure: '1.25', threshold: '1', measure: 'spend_day' })
  t.match(ops?.headers, { 'webhook-id': /^acme:day:[0-9-]{10}:1$/ })
  t.ok(await isSigned(ops!, secret))
  t.match(JSON.parse(ops!.body), {
    type: 'alert.raised',
    data: { workspace: workspaceId, rule: 'day', figure: '1.25', key_id: null },
  })
  t.match(
    receiver.delivered.filter(({ path }) => path === '/team').map(({ body }) => JSON.parse(body)),
    [{ text: /^acme: 1.25 USD were spent in the UTC day .*; the threshold of day is 1\.$/ }],
  )
  advance(86_400_000)
  await spend('r-2', '0.5')
  await spend('r-3', '0.5')
  await until(() => events('AlertDelivered').length === 4)
  t.equal(events('AlertRaised').length, 2)
  t.equal(receiver.delivered.length, 4, 'each was sent once')
})

t.test('alerts of one workspace, whose wallet is in conflict, delay none of others', async (t) => {
  const { receiver, log, spend, watch, open, events } = await start(t)
  await watch('ops')
  const other = 'zeta'
  const key = { keyId: 'key-2', workspaceId: other }
  await log.postToWallet(other, [opened(other), credited('c-2', '10', other), keyIssued('key-2', other)])
  const rule = { rule: 'day', measure: 'spend_day', threshold: '1', destinations: ['ops'] as string[] } as const
  await log.postToWallet(other, [{ type: 'AlertRuleSet', data: { workspaceId: other, ...rule } }])
  const changed: MemoryLog = Object.create(log)
  let isChanged = true
  changed.appendToWallet = async (id, facts, expected) =>
    isChanged && id === workspaceId
      ? { conflict: true, sequence: await log.lastSequence() }
      : log.appendToWallet(id, facts, expected)
  await spend('r-1', '2')
  await log.append([routed('r-2', { ...key, allowanceId: null }), used('r-2', { ...key, total: '2' })])
  const { codes } = await open(changed)
  await until(() => codes().includes('scheduler.unavailable') && events('AlertDelivered').length === 1)
  t.match(
    receiver.delivered.map(({ body }) => JSON.parse(body)),
    [{ data: { workspace: other } }],
  )
  t.notOk(codes().includes('scheduler.available'))
  isChanged = false
  await until(() => events('AlertDelivered').length === 2)
  await until(() => codes().includes('scheduler.available'))
  t.equal(events('AlertRaised').length, 2)
})

t.test('what a scheduler sent and did not record before it was killed is sent again with the same id', async (t) => {
  const { receiver, log, spend, watch, open, events, advance } = await start(t)
  await watch('ops')
  const killed: MemoryLog = Object.create(log)
  killed.appendToWallet = (id, facts, expected) =>
    facts.some(({ type }) => type === 'AlertDelivered')
      ? new Promise(() => {})
      : log.appendToWallet(id, facts, expected)
  await open(killed)
  await spend('r-1', '2')
  await until(() => receiver.delivered.length === 1)
  await open()
  t.equal(events('AlertDelivered').length, 0)
  advance(schedulerLimits.alertTakeoverMs)
  await until(() => events('AlertDelivered').length === 1)
  t.equal(events('AlertRaised').length, 1)
  t.equal(new Set(receiver.delivered.map(({ headers }) => headers['webhook-id'])).size, 1)
  t.equal(receiver.delivered.length, 2)
})

/** The first delivery is not recorded. */
const failingDelivery = (log: MemoryLog): MemoryLog => {
  const failing: MemoryLog = Object.create(log)
  let failures = 0
  failing.appendToWallet = (id, facts, expected) => {
    if (failures > 0 || !facts.some(({ type }) => type === 'AlertDelivered'))
      return log.appendToWallet(id, facts, expected)
    failures += 1
    return Promise.reject(new Error('no servers'))
  }
  return failing
}

t.test(
  'where the log cannot record a delivery, the scheduler goes on, and sends it again with the same id',
  async (t) => {
    const { receiver, log, spend, watch, open, events, advance } = await start(t)
    await watch('ops')
    const { codes } = await open(failingDelivery(log))
    await spend('r-1', '2')
    await until(() => codes().includes('alert.delivery_failed'))
    t.equal(events('AlertDelivered').length, 0)
    advance(schedulerLimits.alertRetryMs)
    await until(() => events('AlertDelivered').length === 1)
    t.equal(receiver.delivered.length, 2)
    t.equal(new Set(receiver.delivered.map(({ headers }) => headers['webhook-id'])).size, 1)
  },
)

t.test('a receiver that is down for an hour gets it afterwards; one that is down for a day does not', async (t) => {
  const { receiver, spend, watch, open, events, advance } = await start(t)
  await watch('ops')
  const { codes } = await open()
  receiver.answerWith(() => 503)
  await spend('r-1', '2')
  const failures = () => codes().filter((code) => code === 'alert.delivery_failed').length
  const goOn = async (forMs: number) => {
    const [stepMs, ticks] = [schedulerLimits.alertRetryMaxMs, forMs / schedulerLimits.alertRetryMaxMs]
    for (let tick = 0; tick < ticks; tick += 1) {
      const before = failures()
      advance(stepMs)
      await until(() => failures() > before || codes().includes('alert.given_up'))
    }
  }
  await until(() => failures() === 1)
  await goOn(3_600_000)
  t.same(events('AlertDelivered'), [])
  t.match(
    events('AlertDeliveryFailed').map(({ data }) => data),
    [{ destination: 'ops', reason: /^status 5/ }],
    'the reason is recorded once',
  )
  receiver.answerWith(() => 200)
  advance(schedulerLimits.alertRetryMaxMs)
  await until(() => events('AlertDelivered').length === 1)
  t.equal(new Set(receiver.delivered.map(({ headers }) => headers['webhook-id'])).size, 1)

  receiver.answerWith(() => 500)
  advance(86_400_000 - 3_600_000)
  await spend('r-2', '2')
  await until(() => events('AlertRaised').length === 2)
  advance(86_400_000 + 3_600_000)
  await until(() => codes().includes('alert.given_up'))
  t.equal(events('AlertDelivered').length, 1)
})

const startMailServer = async (t: Test, options: SMTPServerOptions, port = 0) => {
  const received: { readonly to: string; readonly user: unknown; readonly text: string; readonly isSecure: boolean }[] =
    []
  const server = new SMTPServer({
    authOptional: true,
    onAuth: ({ username, password }, _session, done) =>
      done(password === 'a/b@c' ? null : new Error('unknown'), { user: username }),
    onData: (stream, { envelope, user, secure }, done) => {
      let text = ''
      stream.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      stream.on('end', () => {
        received.push({ to: envelope.rcptTo.map(({ address }) => address).join(), user, text, isSecure: secure })
        done()
      })
    },
    ...options,
  })
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()))
  t.teardown(stop)
  return { port: (server.server.address() as AddressInfo).port, received, stop }
}

const mailTo = (url: string, login = {}): Destinations =>
  new Map([['post', { type: 'email', to: 'ops@example.com', smtp: { url, from: 'gateway@example.com', ...login } }]])

const plain: SMTPServerOptions = { disabledCommands: ['STARTTLS', 'AUTH'] }
const idOf = (text: string) => /^Message-ID: (<[0-9a-f]{32}@example\.com>)/m.exec(text)?.[1]

t.test(
  'mail waits for a server that is down, and comes again with its Message-ID where it was not recorded',
  async (t) => {
    const before = await startMailServer(t, plain)
    await before.stop()
    const { log, spend, watch, open, events, advance } = await start(t, mailTo(`smtp://127.0.0.1:${before.port}`))
    await watch('post')
    const { codes } = await open(failingDelivery(log))
    const tries = () => codes().filter((code) => code === 'alert.delivery_failed').length
    await spend('r-1', '1.25')
    await until(() => tries() === 1)
    const { received } = await startMailServer(t, plain, before.port)
    advance(schedulerLimits.alertRetryMs)
    await until(() => tries() === 2)
    t.equal(events('AlertDelivered').length, 0)
    advance(2 * schedulerLimits.alertRetryMs)
    await until(() => events('AlertDelivered').length === 1)
    const [first, second] = received
    t.equal(received.length, 2)
    t.match(first, { to: 'ops@example.com', isSecure: false })
    t.match(first?.text, /^Subject: acme: 1\.25 USD were spent in the UTC day/m)
    t.match(first?.text, /^Alert acme:day:[0-9-]{10}:1, raised at /m)
    t.ok(idOf(first!.text))
    t.equal(idOf(second!.text), idOf(first!.text))
  },
)

t.test('a password is sent over TLS alone, by STARTTLS or from the start', async (t) => {
  const certificates = await makeCertificates()
  t.teardown(certificates.remove)
  const { certFile, keyFile } = certificates.server
  const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
  const trusted = getCACertificates()
  setDefaultCACertificates([...trusted, readFileSync(certificates.caFile, 'utf8')])
  t.teardown(() => setDefaultCACertificates(trusted))
  const login = { user: 'gateway', password: 'a/b@c' }
  for (const [protocol, options] of [
    ['smtp', tls],
    ['smtps', { ...tls, secure: true }],
  ] as const) {
    const server = await startMailServer(t, options)
    const { spend, watch, open, events } = await start(t, mailTo(`${protocol}://localhost:${server.port}`, login))
    await watch('post')
    await open()
    await spend('r-1', '2')
    await until(() => events('AlertDelivered').length === 1)
    t.match(server.received, [{ isSecure: true, user: 'gateway' }], protocol)
  }
  const server = await startMailServer(t, { disabledCommands: ['STARTTLS'], allowInsecureAuth: true })
  const { spend, watch, open } = await start(t, mailTo(`smtp://localhost:${server.port}`, login))
  await watch('post')
  const { codes } = await open()
  await spend('r-1', '2')
  await until(() => codes().includes('alert.delivery_failed'))
  t.same(server.received, [])
})

t.test('a mail server that never ends an answer keeps few connections, no longer than a try may take', async (t) => {
  let [accepted, open] = [0, 0]
  const server = createServer((socket) => {
    accepted += 1
    open += 1
    socket.write('220 ready\r\n')
    const going = setInterval(() => socket.write('250-wait\r\n'), 5)
    socket
      .on('error', () => undefined)
      .on('close', () => {
        clearInterval(going)
        open -= 1
      })
    socket.resume()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
  const mail = { to: 'ops@example.com', messageId: '<1@example.com>', subject: 'a', text: 'a' }
  await t.rejects(sendMail({ url, from: 'gateway@example.com' }, mail, AbortSignal.timeout(100)), { code: 'EABORT' })
  await until(() => accepted === 1 && open === 0)

  const atOnce = schedulerLimits.mailsAtOnceMax / 2
  const { log, spend, open: openScheduler, events } = await start(t, mailTo(url))
  const rules = Array.from({ length: 2 * atOnce }, (_, at) => ({
    type: 'AlertRuleSet' as const,
    data: { workspaceId, rule: `day-${at}`, measure: 'spend_day' as const, threshold: '1', destinations: ['post'] },
  }))
  await log.postToWallet(workspaceId, rules)
  const { stop } = await openScheduler()
  await spend('r-1', '2')
  await until(() => events('AlertRaised').length === rules.length && open === atOnce)
  await stop()
  await until(() => open === 0)
  t.equal(accepted, 1 + atOnce, 'the others waited, and were not tried once it stopped')
})

t.test('what was given up is not sent by a scheduler that starts later', async (t) => {
  const { receiver, log, spend, watch, open, events, advance } = await start(t)
  await watch('ops')
  receiver.answerWith(() => 503)
  const first = await open()
  await spend('r-1', '2')
  await until(() => first.codes().includes('alert.delivery_failed'))
  await first.stop()
  receiver.answerWith(() => 200)
  advance(walletLimits.alertTriesMs + 1)
  const low = { rule: 'low', threshold: '1000000', destinations: ['team'] }
  await log.postToWallet(workspaceId, [{ type: 'AlertRuleSet', data: { workspaceId, ...low, measure: 'balance' } }])
  const later = await open()
  await until(() => events('AlertDelivered').length === 1)
  t.match(events('AlertDelivered')[0]?.data, { rule: 'low' })
  t.equal(receiver.delivered.filter(({ path }) => path === '/ops').length, 1)
  t.notOk(later.codes().includes('alert.given_up'))
})
