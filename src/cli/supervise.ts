import { OperatorListener } from '../adapters/operators/listener.ts'
import type { Config } from '../config/config.ts'
import { startEmbedded } from '../embedded/embedded.ts'
import type { ServedRole } from '../roles/role.ts'
import { resolveAdministrators } from './administrators.ts'
import { ConfigReload } from './config-reload.ts'
import type { Gateway } from './gateway.ts'
import { listenForOperators } from './observation.ts'
import { assertListenPortFree } from './ports.ts'
import { createFatalExit, killMsOf } from './process-end.ts'
import type { Runtime } from './runtime.ts'
import { ShutdownStack } from './shutdown-stack.ts'
import { Supervisor } from './supervisor.ts'
import type { Configured } from './supervisor-messages.ts'
import { createOverview } from './supervisor-overview.ts'

export interface SuperviseOptions {
  readonly workers: number
  readonly argumentsFor: (role: ServedRole, sandboxUrl: string | null) => readonly string[]
}

interface SupervisedGateway extends Gateway {
  restart(): Promise<void>
}

const startServers = async (config: Config, runtime: Runtime, stack: ShutdownStack): Promise<void> => {
  const { dataFolder, natsServerBin, external } = config
  if (external !== null) return
  const onChildExit = (exit: object): void =>
    createFatalExit(runtime)(new Error(`an embedded server ended: ${JSON.stringify(exit)}`))
  stack.push(await startEmbedded({ dataFolder, ...runtime, natsServerBin, onChildExit }))
}

const startSandbox = async ({ sandbox }: Config, runtime: Runtime, stack: ShutdownStack): Promise<string | null> => {
  if (!sandbox) return null
  runtime.logger.log('sandbox.enabled', {})
  const { startSandbox: start } = await import('../../sandbox/server.ts')
  return stack.push(await start(runtime)).url
}

const openOverview = async (
  { observe }: Config,
  { logger }: Runtime,
  { supervisor, reload }: { readonly supervisor: Supervisor; readonly reload: ConfigReload },
  stack: ShutdownStack,
): Promise<string | null> => {
  if (observe === null) return null
  const overview = createOverview(() => supervisor.processes, reload.checks)
  const listener = new OperatorListener({ role: 'gateway', ...overview }, logger)
  return listenForOperators(stack.push(listener), observe)
}

const configuredOf = ({ fileTexts }: Config): Configured => ({ type: 'configured', files: [...fileTexts] })

/** Starts the whole gateway in several processes. Where one cannot start, stops the others and rejects. */
export const supervise = async (
  config: Config,
  runtime: Runtime,
  { workers, argumentsFor }: SuperviseOptions,
): Promise<SupervisedGateway> => {
  const stack = new ShutdownStack()
  try {
    await assertListenPortFree(config)
    await startServers(config, runtime, stack)
    const { newToken } = resolveAdministrators(config)
    const sandboxUrl = await startSandbox(config, runtime, stack)
    let [configured, rejection]: [Configured, string | null] = [configuredOf(config), null]
    const supervisor = stack.push(
      new Supervisor({
        workers,
        argumentsFor: (role) => argumentsFor(role, sandboxUrl),
        configured: () => configured,
        onStarted: (process) => {
          if (rejection !== null) process.send({ type: 'reload_rejected', fault: rejection })
        },
        stopMs: killMsOf(config),
        runtime,
      }),
    )
    const agree = (fileTexts: Config['fileTexts']): Promise<void> => supervisor.prepareReload([...fileTexts])
    const onRejected = (fault: string): void => {
      rejection = fault
      for (const process of supervisor.processes) process.send({ type: 'reload_rejected', fault })
    }
    const reload = stack.push(new ConfigReload(config, runtime, { agree, onRejected }))
    reload.onChange((changed) => {
      configured = configuredOf(changed)
      rejection = null
      supervisor.commitReload()
    })
    const observeUrl = await openOverview(config, runtime, { supervisor, reload }, stack)
    const { background, worker } = await supervisor.start()
    if (worker.url === null || background.offer === null) throw new Error('a process of another release was started')
    return {
      url: worker.url,
      ...background.offer,
      newAdminToken: newToken,
      sandbox: config.sandbox,
      observeUrl,
      reload,
      restart: () => supervisor.restart(),
      stop: () => stack.stop(),
    }
  } catch (fault) {
    await stack.stop()
    throw fault
  }
}
