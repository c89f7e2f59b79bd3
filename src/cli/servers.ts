import type { Config } from '../config/config.ts'
import { startEmbedded } from '../embedded/embedded.ts'
import type { ServerExit } from '../embedded/server-process.ts'
import { CommandError } from './report.ts'
import type { Runtime } from './runtime.ts'
import { onShutdownSignal } from './shutdown-signal.ts'

/** Runs the embedded servers alone, for roles that are started on them one by one. */
export const runServers = async (config: Config, { clock, logger }: Runtime): Promise<void> => {
  const { dataFolder, natsServerBin } = config
  const onChildExit = (exit: ServerExit): never => {
    logger.log('embedded.fatal', exit)
    process.exit(1)
  }
  if (config.external !== null) throw new CommandError('external servers are configured; these are run elsewhere')
  const untilShutdown = onShutdownSignal()
  const servers = await startEmbedded({ dataFolder, clock, logger, natsServerBin, onChildExit })
  console.log(`PostgreSQL and NATS run on ${dataFolder}; start roles with \`gateway serve --role …\``)
  await untilShutdown()
  await servers.stop()
}
