import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { natsLimits } from '../../../../src/adapters/nats/limits.ts'
import { requireTables } from '../../../../src/cli/platform.ts'
import { rebuildReadModels } from '../../../../src/cli/replay.ts'
import type { External } from '../../../../src/config/servers.ts'
import { type RoleName, roleNames } from '../../../../src/roles/role.ts'
import { sharedLimits } from '../../../../src/runtime/limits.ts'
import { NatsCluster } from '../../../adapters/nats/cluster.ts'
import { checkBilledOnce } from '../../../support/bills.ts'
import { Clients, chat, chatBody, type Seen, until } from '../../../support/clients.ts'
import { Deployment } from '../../../support/deployment.ts'
import { sheetOf } from '../../../support/gateway.ts'
import { startPostgres } from '../../../support/postgres.ts'
import { randomOf } from '../../../support/random.ts'

/** None: the short form, one round with one of the nodes. */
const rounds = Number(process.env['CHAOS_ROUNDS'] ?? 0)
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 100_000)
const random = randomOf(seed)

/** The short form shares the machine with other tests: of fewer requests, slower ones, more are under way when a process is struck. */
const clients = rounds === 0 ? 6 : 16
/** Between a client's requests. */
const thinkMs = rounds === 0 ? 200 : 0
const upstreamMs = rounds === 0 ? 300 : 0
/** Before a strike, and again behind it. */
const answersOfEach = rounds === 0 ? 2 : 4
const requestDeadlineMs = 20_000
/** What a request may take beyond its deadline: its bill, and the way back. */
const hungMs = requestDeadlineMs + sharedLimits.closingAckMs + natsLimits.callsEndLateMs
const servesAgainWithinMs = 40_000

interface Victim {
  readonly name: string
  strike(): Promise<void>
  restore(): Promise<void>
}

const shuffled = <T>(items: readonly T[]): readonly T[] =>
  items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)

const roleVictims = (deployment: Deployment, killed: Set<RoleName>): readonly Victim[] =>
  roleNames.map((role: RoleName) => {
    const index = rounds > 0 && random() < 0.5 ? 1 : 0
    return {
      name: role,
      strike: async () => {
        await deployment.end(role, index, 'SIGKILL')
        killed.add(role)
      },
      restore: () => deployment.start(role, index),
    }
  })

const nodeVictims = (cluster: NatsCluster): readonly Victim[] => {
  const nodes = shuffled([0, 1, 2]).map((node) => ({
    name: `node ${node}`,
    strike: () => cluster.kill(node),
    restore: () => cluster.start(node),
  }))
  return rounds === 0 ? nodes.slice(0, 1) : nodes
}

t.test(
  `kill -9 of each role and each NATS node in turn, and PostgreSQL stopped, rounds: ${rounds || 'a short one'}, seed ${seed}`,
  async (t) => {
    const cluster = await NatsCluster.create()
    t.teardown(() => cluster.remove())
    const postgres = await startPostgres(t)
    const { url: databaseUrl } = await postgres.newDatabase()
    const externalFor = (user: RoleName | 'operator'): External => ({
      databaseUrl: user === 'proxy' ? null : databaseUrl,
      nats: { ...cluster.accessOf(user), monitoringUrl: undefined, credentialsFile: undefined },
    })
    const killed = new Set<RoleName>()
    const deployment = await Deployment.start(t, {
      external: externalFor('operator'),
      externalOf: externalFor,
      counts: { edge: 2, proxy: 2, 'video-poller': 2, projector: 2, scheduler: 2 },
      // In the short form a role that was killed comes back in the test's process, where a start costs least.
      apart: (role, index) => rounds > 0 || (index === 0 && !killed.has(role)),
      models: { slow: `slow;delay_ms=${upstreamMs}` },
      sheets: { 'openai/slow': sheetOf() },
      config: { requestDeadlineMs, log: { name: 'GATEWAY', replicas: 3, durability: 'synced' } },
    })
    const { operator } = deployment
    const { secret } = await operator.openAccount('acme', '1000')
    const anyUrl = (): string => deployment.urls[Math.floor(random() * deployment.urls.length)]!
    const load = new Clients(clients, async () => {
      const seen = await chat(anyUrl(), secret, chatBody('openai/slow', random() < 0.5))
      await pause(seen.status === 200 ? thinkMs : 50)
      return seen
    })
    t.teardown(() => load.stop())
    const isAnswered = ({ status, complete }: Seen): boolean => status === 200 && complete
    const answers = (): number => load.journal.filter(isAnswered).length
    const serves = async (): Promise<void> => {
      const before = answers()
      await until(() => answers() >= before + clients * answersOfEach, servesAgainWithinMs)
    }

    for (let round = 0; round < Math.max(1, rounds); round += 1) {
      const database = { name: 'PostgreSQL', strike: () => postgres.stop(), restore: () => postgres.start() }
      for (const victim of shuffled([...roleVictims(deployment, killed), ...nodeVictims(cluster), database])) {
        await serves()
        await pause(random() * 500)
        await victim.strike()
        t.comment(`without ${victim.name}`)
        await serves()
        await victim.restore()
        t.pass(`served without ${victim.name}`)
      }
    }
    await serves()
    const journal = await load.stop()

    const bills = await checkBilledOnce(t, operator, journal)
    t.ok(deployment.sandbox.totals().calls >= bills, 'nothing is billed that the upstream did not serve')
    t.same(
      journal.filter(({ tookMs }) => tookMs > hungMs),
      [],
      'no request hung past its deadline',
    )

    const { database, place } = requireTables(operator.platform)
    await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
    t.ok((await rebuildReadModels({ log: operator.log, place, swap: false })).equal, 'the tables equal a rebuild')
  },
)
