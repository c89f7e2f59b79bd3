import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { tablesOf } from '../../src/commands/platform.ts'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { listStatement } from '../../src/read-models/statement.ts'
import { checkCharges } from '../bills.ts'
import { until } from '../clients.ts'
import { startExternalServers } from '../external-servers.ts'
import { temporaryFolder } from '../gateway.ts'
import { GatewayProcess } from '../gateway-process.ts'
import { randomOf } from '../random.ts'
import { startReceiver } from '../receiver.ts'
import { startRolesTogether } from '../roles-together.ts'
import { eventsOf, newVideo, openKnownAccount, quick, videoOptions, walletFigures } from '../video.ts'

/** None: the short form. */
const rounds = Number(process.env['CHAOS_ROUNDS'] ?? 0)
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 100_000)
const random = randomOf(seed)

const { direct, throughWire, wire } = await startExternalServers(t)
const running = await startRolesTogether(t, {
  external: direct,
  counts: { proxy: 0, 'video-poller': 0 },
  ...videoOptions(),
})
const { operator, sandbox, config } = running
const url = running.urls[0]!
const receiver = await startReceiver(t)

const startPoller = async (): Promise<GatewayProcess> =>
  GatewayProcess.start(
    { ...config, external: throughWire },
    { role: 'video-poller', settingsFolder: await temporaryFolder(t), bounds: quick },
  )

const newTask = (secret: string, name: string, directives: string): Promise<string> =>
  newVideo(url, secret, { prompt: `A cat. ${directives}`, more: { callback_url: `${receiver.url}/${name}` } })

const statementOf = (workspaceId: string) => listStatement(tablesOf(operator.platform).database.db, workspaceId)

/** One task at the vendor, one charge of what it took, one end of the hold, one callback at least. */
const checkWhole = async (t: Test, workspaceId: string, creditUsd: string, taskIds: readonly string[]) => {
  const wallet = operator.tail.ledger.wallets.get(workspaceId)!
  await until(() => wallet.heldPicos === 0n, 60_000)
  const called = (): ReadonlySet<unknown> => new Set(receiver.delivered.map(({ headers }) => headers['webhook-id']))
  await until(() => taskIds.every((taskId) => called().has(taskId)), 60_000)
  const { database } = tablesOf(operator.platform)
  await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
  const statement = await statementOf(workspaceId)
  let spentPicos = 0n
  for (const taskId of taskIds) {
    const { vendorTaskIds = [], units = '0' } = sandbox.videos.find(taskId) ?? {}
    t.equal(vendorTaskIds.length, 1, 'the vendor made it once')
    const amountPicos = parseUsd(units ?? '0') * parseUsd('0.14') / parseUsd('1')
    spentPicos += amountPicos
    const movements = statement.filter(({ reference }) => reference === taskId)
    t.same(
      movements.map(({ kind, amountPicos: picos }) => `${kind} ${formatUsd(picos)}`),
      ['hold 0', `charge -${formatUsd(amountPicos)}`, 'release 0'],
      'it was held, charged and released once',
    )
  }
  const balance = formatUsd(parseUsd(creditUsd) - spentPicos)
  t.same(await walletFigures(operator, workspaceId), { balance, held: '0', available: balance })
  await checkCharges(t, running)
}
