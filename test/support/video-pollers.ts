import type { Test } from 'tap'
import type { Config } from '../../src/config/config.ts'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { checkCharges } from './bills.ts'
import { until } from './clients.ts'
import { type ExternalServers, startExternalServers } from './external-servers.ts'
import { temporaryFolder } from './gateway.ts'
import { GatewayProcess } from './gateway-process.ts'
import { type RolesTogether, startRolesTogether } from './roles-together.ts'
import { plainUsd, quick, statementOf, usdTimes, videoOptions, walletFigures } from './video.ts'

/** All roles but the video-poller in this process; pollers are processes of their own, which the test starts and ends. */
export interface PollersApart extends Omit<ExternalServers, 'nats' | 'postgres'> {
  readonly running: RolesTogether
  readonly url: string
  startPoller(external: NonNullable<Config['external']>): Promise<GatewayProcess>
}

export const startPollersApart = async (t: Test): Promise<PollersApart> => {
  const { direct, throughWire, wire } = await startExternalServers(t)
  const running = await startRolesTogether(t, {
    external: direct,
    counts: { proxy: 0, 'video-poller': 0 },
    ...videoOptions(),
  })
  const startPoller: PollersApart['startPoller'] = async (external) =>
    GatewayProcess.start(
      { ...running.config, external },
      { role: 'video-poller', settingsFolder: await temporaryFolder(t), bounds: quick },
    )
  return { direct, throughWire, wire, running, url: running.urls[0]!, startPoller }
}

/** How many tasks the vendor made for one of ours. */
export const madeOf = ({ sandbox }: RolesTogether, taskId: string): number =>
  sandbox.videos.find(taskId)?.vendorTaskIds.length ?? 0

interface Spender {
  readonly workspaceId: string
  /** All that it was ever given. */
  readonly creditUsd: string
}

/** Of each task: one at the vendor, one charge of what that took, one end of its hold; and the wallet holds what is left. */
export const checkMadeAndBilledOnce = async (
  t: Test,
  running: RolesTogether,
  { workspaceId, creditUsd }: Spender,
  taskIds: readonly string[],
): Promise<void> => {
  const { operator } = running
  await until(async () => (await walletFigures(operator, workspaceId)).held === '0')
  const statement = await statementOf(operator, workspaceId)
  const movementsOf = (taskId: string): readonly string[] =>
    statement
      .filter(({ reference }) => reference === taskId)
      .map(({ kind, amountPicos }) => `${kind} ${formatUsd(amountPicos)}`)
  for (const taskId of taskIds) {
    t.equal(madeOf(running, taskId), 1, 'the vendor made one task')
    t.same(movementsOf(taskId), ['hold 0', `charge -${plainUsd}`, 'release 0'], 'with one bill')
  }
  const balance = formatUsd(parseUsd(creditUsd) - parseUsd(usdTimes(plainUsd, taskIds.length)))
  t.same(await walletFigures(operator, workspaceId), { balance, held: '0', available: balance })
  await checkCharges(t, running)
}
