import { creditPayer, type Gateway, type Installation, install, payer, type Started } from '../installation.ts'

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

/** Starts the embedded servers and each role in a process of its own, with the mock upstream as the provider and credit for the whole run. */
export const startRoles = async (dataFolder: string, upstreamUrl: string, caller: string): Promise<Gateway> => {
  await using stack = new AsyncDisposableStack()
  const installation = install(dataFolder, upstreamUrl, caller)
  const start = (...words: readonly string[]): Started =>
    stack.adopt(installation.start(...words), (each) => each.stop())
  await start('servers').says(/PostgreSQL and NATS run/)
  const key = await openPayer(installation)
  const pids: Record<string, number> = {}
  for (const role of withoutAddress) {
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
    command: installation.command,
    stop: () => running.disposeAsync(),
  }
}
