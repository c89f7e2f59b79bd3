import type { Config } from '../config/config.ts'
import { faultText } from '../errors/gateway-error.ts'
import type { ServedRole } from '../roles/role.ts'
import type { ConfigReload } from './config-reload.ts'
import { type GatewayBounds, type Supervised, startRole } from './gateway.ts'
import type { Observation } from './observation.ts'
import { createFatalExit, forceExitAfter, stopMsOf } from './process-end.ts'
import type { Runtime } from './runtime.ts'
import type { ProcessMessage, SupervisorMessage } from './supervisor-messages.ts'

const send = (message: ProcessMessage): void => {
  if (process.connected) process.send?.(message)
}

const onMessage = (listener: (message: SupervisorMessage) => void): (() => void) => {
  process.on('message', listener)
  return () => process.off('message', listener)
}

const listenForEndedWriters: Supervised['endedWriters'] = (onEnded) =>
  onMessage((message) => {
    if (message.type === 'writer_ended') onEnded(message.writer)
  })

/** The supervisor decides when a process stops: a signal to the whole group reaches it too. */
const onStop = (listener: () => void): Promise<void> => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => undefined)
  const { promise, resolve } = Promise.withResolvers<void>()
  process.once('disconnect', resolve)
  onMessage(({ type }) => {
    if (type === 'stop') resolve()
  })
  return promise.then(listener)
}

const answerObservations = (observation: Observation): void => {
  const { health } = observation
  onMessage(async (message) => {
    if (message.type !== 'observe') return
    send({
      type: 'observed',
      id: message.id,
      figures: await observation.figures(),
      alive: health.alive(),
      ready: health.ready(),
    })
  })
}

const followReloads = (reload: ConfigReload): void => {
  onMessage(async (message) => {
    if (message.type === 'reload_commit') reload.commit()
    if (message.type === 'reload_rejected') reload.noteRejection(message.fault)
    if (message.type !== 'reload_prepare') return
    const { id, files } = message
    try {
      await reload.prepare(new Map(files))
      send({ type: 'reload_prepared', id, fault: null })
    } catch (fault) {
      send({ type: 'reload_prepared', id, fault: faultText(fault) })
    }
  })
}

export interface SupervisedOptions {
  /** Null where a provider is configured. */
  readonly sandboxUrl: string | null
  readonly workers?: number | undefined
  readonly bounds?: GatewayBounds
}

/** As a process of `supervise`: until it is stopped by its supervisor, or that has ended. */
export const serveSupervised = async (
  config: Config,
  runtime: Runtime,
  role: ServedRole,
  { sandboxUrl, workers, bounds }: SupervisedOptions,
): Promise<void> => {
  try {
    const stopped = onStop(() => forceExitAfter(stopMsOf(config), runtime))
    const supervised = { sandboxUrl, workers, endedWriters: listenForEndedWriters }
    const running = await startRole(role, config, runtime, createFatalExit(runtime), bounds, supervised)
    const { url, writer, offer = null, observation, reload } = running
    answerObservations(observation)
    followReloads(reload)
    send({ type: 'started', url, writer, offer })
    await stopped
    await running.stop()
    runtime.logger.log('process.stopped', {})
  } finally {
    if (process.connected) process.disconnect()
  }
}
