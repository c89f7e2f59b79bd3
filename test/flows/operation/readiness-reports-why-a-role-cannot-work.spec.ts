import t from 'tap'
import { createSigner, deriveVerifier } from '../../../src/audit/note.ts'
import { SealBuilder, signSeal } from '../../../src/audit/seal.ts'
import { chatBody, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { failing, healthAt, scrape } from '../../support/metrics.ts'
import { startRolesTogether } from '../../support/roles-together.ts'

const observe = { host: '127.0.0.1', port: 0 }

const signer = createSigner('gateway.test/ledger', Buffer.alloc(32, 7))
const audit = { sealing: true, origin: signer.name, signer, verifier: deriveVerifier(signer), previous: [] }

/** By a key that no scheduler knows. */
const strangeCheckpoint = () => {
  const sealing = new SealBuilder()
  sealing.take({ sequence: 1, subject: 'journal.edge', id: '', storedMs: 0, data: Buffer.from('other') })
  return signSeal(sealing.next(), createSigner(signer.name, Buffer.alloc(32, 8)))
}

/** What each process says is wrong, by its role; a second one of a role behind it. */
type Standing = Readonly<Record<string, readonly string[]>>

t.test('each role says when it cannot work, and why', async (t) => {
  const { direct, nats, postgres } = await startExternalServers(t)
  const together = await startRolesTogether(t, {
    external: direct,
    counts: { projector: 2 },
    config: { observe, drainMs: 2_000, audit },
    models: { slow: 'slow;hang=1' },
  })
  const { processes, operator, urls } = together
  const [edgeUrl] = urls
  const observeUrlOf = (role: string): string => processes.find((each) => each.role === role)!.observeUrl!
  const standing = async (path: '/healthz' | '/readyz' = '/readyz'): Promise<Standing> => {
    const told = await Promise.all(processes.map(({ observeUrl }) => healthAt(observeUrl, path)))
    for (const each of told)
      if ((each.httpStatus === 200) !== (failing(each).length === 0)) t.fail(`${each.role} says ${each.httpStatus}`)
    const named = told.map((each, index) => {
      const second = told.slice(0, index).some(({ role }) => role === each.role)
      return [`${each.role}${second ? ' 2' : ''}`, failing(each)] as const
    })
    return Object.fromEntries(named.filter(([, names]) => names.length > 0))
  }
  const untilStanding = async (holds: (now: Standing) => boolean): Promise<Standing> => {
    let now: Standing = {}
    await until(async () => {
      now = await standing()
      return holds(now)
    })
    return now
  }
  const allReady = (now: Standing): boolean => Object.keys(now).length === 0

  await untilStanding(allReady)
  t.same(await standing('/healthz'), {})
  const { secret } = await operator.openAccount('acme', '10')

  t.test('of two projectors one writes and one is on standby; both are ready', async (t) => {
    const said = async (): Promise<readonly (string | undefined)[]> => {
      const projectors = processes.filter(({ role }) => role === 'projector')
      const told = await Promise.all(projectors.map(({ observeUrl }) => healthAt(observeUrl, '/readyz')))
      return told.map(({ checks }) => checks['projecting']?.reason)
    }
    let opened = 0
    let now: readonly (string | undefined)[] = []
    await until(async () => {
      opened += 1
      // A projector that found all of it written already learns of the other with the next event.
      await operator.openAccount(`another-${opened}`, '1')
      now = await said()
      return now.some((reason) => reason?.startsWith('on standby'))
    })
    t.equal(now.filter((reason) => reason === undefined).length, 1)
  })

  t.test('PostgreSQL stops: the projectors alone are not ready, and nobody is taken for dead', async (t) => {
    await postgres.stop()
    // As below: one of its checks fails before another.
    const isTold = (each: Standing): boolean =>
      Object.keys(each).length === 2 && Object.values(each).every((names) => names.includes('database'))
    const now = await untilStanding(isTold)
    t.same(Object.keys(now).sort(), ['projector', 'projector 2'])
    t.ok(now['projector']!.includes('database'))
    t.same(await standing('/healthz'), {})
    t.equal((await fetch(`${edgeUrl}/readyz`)).status, 200, 'requests are served')
    const seen = await scrape(observeUrlOf('edge'))
    t.equal(seen.value('gateway_follower_lag_frames', { follower: 'ledger' }), 0)
    await postgres.start()
    await untilStanding(allReady)
  })

  t.test('NATS stops: no role is ready, each says so, and all come back', async (t) => {
    await nats.stop('SIGKILL')
    // A role hears of it on one connection before it does on another.
    const isTold = (each: Standing): boolean =>
      Object.keys(each).length === processes.length &&
      Object.values(each).every((names) => names.includes('log')) &&
      each['proxy']!.includes('calls') &&
      each['video-poller']!.includes('tasks')
    const now = await untilStanding(isTold)
    for (const [role, names] of Object.entries(now)) t.ok(names.includes('log'), role)
    t.ok(now['proxy']!.includes('calls'))
    t.ok(now['video-poller']!.includes('tasks'))
    t.same(await standing('/healthz'), {})
    const publicly = await fetch(`${edgeUrl}/readyz`)
    t.equal(publicly.status, 503)
    t.match(await publicly.json(), { status: 'not_ready', role: 'edge', checks: { log: { ok: false } } })
    t.ok((await scrape(observeUrlOf('proxy'))).names.has('gateway_log_last_sequence'), 'they can still be watched')
    await nats.start()
    await untilStanding(allReady)
    t.equal((await fetch(`${edgeUrl}/readyz`)).status, 200)
  })

  t.test('the log goes on from a key that nobody knows: the scheduler says that it seals no more', async (t) => {
    await operator.log.append([{ type: 'CheckpointSealed', data: strangeCheckpoint() }])
    const now = await untilStanding((each) => Object.keys(each).length > 0)
    t.same(now, { scheduler: ['sealing'] })
    t.same(await standing('/healthz'), { scheduler: ['sealing'] }, 'it does not come back by itself')
    t.match(await healthAt(observeUrlOf('scheduler'), '/healthz'), {
      httpStatus: 503,
      status: 'failed',
      checks: { sealing: { ok: false, reason: /the log is not sealed any further: .*gateway\.test\/ledger/ } },
    })
    t.equal((await fetch(`${edgeUrl}/readyz`)).status, 200, 'requests are served')
  })

  t.test('a process that was told to stop is not ready, while it finishes what it has', async (t) => {
    const answer = fetch(`${edgeUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: chatBody('openai/slow', false),
    })
    await until(async () => (await scrape(observeUrlOf('edge'))).value('gateway_requests_in_flight') === 1)
    const stopped = processes.find(({ role }) => role === 'edge')!.stop()
    const told = await healthAt(observeUrlOf('edge'), '/readyz')
    t.same([told.httpStatus, failing(told)], [503, ['accepting', 'phase']])
    t.equal((await healthAt(observeUrlOf('edge'), '/healthz')).httpStatus, 200)
    await answer.then((each) => each.text()).catch(() => undefined)
    await stopped
    await t.rejects(fetch(`${observeUrlOf('edge')}/healthz`), 'and then it is gone')
  })
})
