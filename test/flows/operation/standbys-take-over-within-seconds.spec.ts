import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { requireTables } from '../../../src/cli/platform.ts'
import { rebuildReadModels } from '../../../src/cli/replay.ts'
import { schedulerLimits } from '../../../src/roles/scheduler/limits.ts'
import { Clients, chat, chatBody, until } from '../../support/clients.ts'
import { Deployment } from '../../support/deployment.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { runtime } from '../../support/gateway.ts'
import { startReceiver } from '../../support/receiver.ts'

const withinMs = 10_000
const takeoverMs = schedulerLimits.alertTakeoverMs + 2 * withinMs

t.test('two projectors and two schedulers, and the one that works is killed', async (t) => {
  const { direct } = await startExternalServers(t)
  const receiver = await startReceiver(t)
  const secret = `whsec_${Buffer.from('a-secret-of-a-test').toString('base64')}`
  const deployment = await Deployment.start(t, {
    external: direct,
    config: { alertDestinations: new Map([['ops', { type: 'webhook', url: receiver.url, secret }]]) },
    counts: { 'video-poller': 0, projector: 2, scheduler: 2 },
    apart: (role) => role === 'projector' || role === 'scheduler',
  })
  const { operator } = deployment
  const account = await operator.openAccount('acme', '10')
  const { database, place } = requireTables(operator.platform)
  const load = new Clients(4, async () => {
    const seen = await chat(deployment.urls[0]!, account.secret, chatBody('openai/plain', true))
    await pause(200) // Bills enough; the machine is for those that take over.
    return seen
  })
  await until(() => load.journal.length > 20)

  t.test('a projector', async (t) => {
    for (const index of [0, 1]) {
      await deployment.end('projector', index, 'SIGKILL')
      const last = await operator.log.lastSequence()
      await until(async () => (await database.checkpoint()) > last, withinMs)
      if (index === 0) await deployment.start('projector', index)
    }
    await load.stop()
    await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
    const report = await rebuildReadModels({ log: operator.log, place, swap: false })
    t.ok(report.equal, 'and the tables are those of one projector')
  })

  t.test('a scheduler; what time causes is in the log once', async (t) => {
    await operator.caughtUp()
    const placeHold = async (index: number): Promise<string> => {
      const holdId = runtime.newId()
      const deadline = new Date(runtime.clock() + 300).toISOString()
      const data = {
        holdId,
        workspaceId: 'acme',
        purpose: 'allowance',
        amount: '1',
        deadline,
        owner: `dead-${index}`,
      } as const
      await operator.log.postToWallet('acme', [{ type: 'HoldPlaced', data }])
      return holdId
    }
    const releasesOf = async (holds: readonly string[]): Promise<readonly string[]> =>
      (await operator.events()).flatMap((event) =>
        event.type === 'HoldReleased' && holds.includes(event.data.holdId) ? [event.data.holdId] : [],
      )
    const together = await Promise.all([0, 1, 2, 3].map(placeHold))
    await until(async () => new Set(await releasesOf(together)).size === together.length, withinMs)
    await deployment.end('scheduler', 0, 'SIGKILL')
    const alone = await placeHold(4)
    await until(async () => (await releasesOf([alone])).length > 0, withinMs)
    await deployment.start('scheduler', 0)
    await deployment.end('scheduler', 1, 'SIGKILL')
    const other = await placeHold(5)
    await until(async () => (await releasesOf([other])).length > 0, withinMs)
    const all = [...together, alone, other]
    t.same((await releasesOf(all)).toSorted(), all.toSorted())
  })

  t.test('both schedulers, one after the other, while the receiver of alerts is down; none is lost', async (t) => {
    await deployment.start('scheduler', 1)
    const accepted = new Set<string>()
    let isUp = false
    receiver.answerWith(({ headers }) => {
      if (!isUp) return 503
      accepted.add(String(headers['webhook-id']))
      return 200
    })
    const rule = { workspaceId: 'acme', measure: 'balance', threshold: '1000' } as const
    const rules = ['one', 'two', 'three', 'four'].map((name) => ({ ...rule, rule: name, destinations: ['ops'] }))
    await operator.log.postToWallet(
      'acme',
      rules.map((data) => ({ type: 'AlertRuleSet', data })),
    )
    const idsOf = async (type: 'AlertRaised' | 'AlertDelivered'): Promise<readonly string[]> =>
      (await operator.events()).flatMap((event) => (event.type === type ? [event.data.alertId] : [])).toSorted()
    const tried = () => new Set(receiver.delivered.map(({ headers }) => headers['webhook-id']))
    await until(() => tried().size === rules.length, takeoverMs)
    await deployment.end('scheduler', 0, 'SIGKILL')
    await deployment.start('scheduler', 0)
    await deployment.end('scheduler', 1, 'SIGKILL')
    const raised = await idsOf('AlertRaised')
    t.equal(new Set(raised).size, rules.length)
    t.equal(raised.length, rules.length, 'each was raised once')
    t.same(await idsOf('AlertDelivered'), [])
    isUp = true
    await until(async () => (await idsOf('AlertDelivered')).length === rules.length, takeoverMs)
    t.same([...accepted].toSorted(), raised)
    t.same([...tried()].toSorted(), raised, 'with the ids of the first tries')
  })
})
