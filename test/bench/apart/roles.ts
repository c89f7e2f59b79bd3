import type { RoleName } from '../../../src/roles/role.ts'
import { creditPayer, type Gateway, type Installation, payer, type Started } from '../installation.ts'

/** In the order of their start. */
const withoutAddress = ['projector', 'scheduler', 'proxy'] as const

const openPayer = async (installation: Installation): Promise<string> => {
  const { command } = installation
  await command('prices', 'publish')
  await command('workspace', 'open', payer)
  await creditPayer(installation)
  const { secret } = await command('key', 'issue', payer)
  return String(secret)
}

export interface Roles {
  /** Beside the edge; in the order of their start. */
  readonly roles?: readonly Exclude<RoleName, 'edge'>[]
  /** Gives the key that calls; on servers that run, before any role does. */
  readonly openAccount?: (installation: Installation) => Promise<string>
}

/** Starts the embedded servers and each role in a process of its own, with credit for the whole run. */
export const startRoles = async (
  installation: Installation,
  { roles = withoutAddress, openAccount = openPayer }: Roles = {},
): Promise<Gateway> => {
  await using stack = new AsyncDisposableStack()
  const { dataFolder, command } = installation
  const start = (...words: readonly string[]): Started =>
    stack.adopt(installation.start(...words), (each) => each.stop())
  await start('servers').says(/PostgreSQL and NATS run/)
  const key = await openAccount(installation)
  const pids: Record<string, number> = {}
  for (const role of roles) {
    const { pid, says } = start('serve', '--role', role)
    await says(/ works\./)
    pids[role] = pid
  }
  const edge = start('serve', '--role', 'edge')
  const [, url] = await edge.says(/answers at (http:\/\/\S+)\/v1/)
  const running = stack.move()
  return {
    pids: { edge: edge.pid, ...pids },
    url: url!,
    key,
    dataFolder,
    command,
    stop: () => running.disposeAsync(),
  }
}
