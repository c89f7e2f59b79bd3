import type { Config } from '../config/config.ts'
import type { ServedRole } from '../roles/role.ts'
import { type Gateway, type GatewayBounds, type RunningProcess, startGateway, startRole } from './gateway.ts'
import { createFatalExit, forceExitAfter, killMsOf, stopMsOf } from './process-end.ts'
import type { Runtime } from './runtime.ts'
import { onShutdownSignal } from './shutdown-signal.ts'
import { type SuperviseOptions, supervise } from './supervise.ts'

const observeLine = (observeUrl: string | null): readonly string[] =>
  observeUrl === null ? [] : [`Metrics and health, for operators: ${observeUrl}/metrics, /healthz, /readyz`]

const formatGreeting = (gateway: Gateway): string => {
  const { url, observeUrl, demoKey, newAdminToken, sandbox, sampleModel, sampleVideoModel } = gateway
  return [
    '',
    `  The gateway answers at ${url}/v1${sandbox ? '  (sandbox provider: no provider key is configured)' : ''}`,
    `  The dashboard: ${url}/dashboard`,
    ...observeLine(observeUrl).map((line) => `  ${line}`),
    ...(demoKey === null
      ? []
      : [
          `  Demo key: ${demoKey}`,
          '',
          `  curl ${url}/v1/chat/completions \\`,
          `    -H 'Authorization: Bearer ${demoKey}' -H 'Content-Type: application/json' \\`,
          `    -d '{"model":"${sampleModel}","messages":[{"role":"user","content":"Hello!"}]}'`,
          ...(sampleVideoModel === null
            ? []
            : [
                `  A video: POST the same way {"model":"${sampleVideoModel}","prompt":"A cat."} to /v1/video/generations`,
              ]),
          '',
          '  What it cost, in units of 0.01 USD. The tables follow the log: an answer is counted soon after its end.',
          `  curl ${url}/v1/dashboard/billing/usage -H 'Authorization: Bearer ${demoKey}'`,
        ]),
    ...(newAdminToken === null
      ? []
      : [
          '',
          `  Admin token, shown once and stored in the data folder (admin-token): ${newAdminToken}`,
          `  curl ${url}/admin/v1/workspaces -H 'Authorization: Bearer ${newAdminToken}'`,
        ]),
    '',
  ].join('\n')
}

const roleGreeting = ({ role, url, observeUrl }: RunningProcess): string =>
  [...observeLine(observeUrl), url === null ? `The ${role} works.` : `The ${role} answers at ${url}/v1`].join('\n')

const warnOfConfig = ({ exposedFiles, warnings }: Config, { logger }: Runtime): void => {
  for (const { path, message } of warnings) logger.log('config.member_ineffective', { path, message })
  for (const file of exposedFiles) logger.log('config.secret_file_exposed', { file })
}

interface Signalled extends Pick<Gateway, 'reload'> {
  restart?(): Promise<void>
}

/** From before the start, as a signal without a listener ends the process; they do nothing until the result is called. */
const listenForSignals = ({ logger }: Runtime): ((started: Signalled) => void) => {
  let running: Signalled | null = null
  process.on('SIGUSR2', () => {
    if (running?.restart !== undefined) void running.restart()
    else if (running !== null) logger.log('process.no_workers', {})
  })
  // A terminal that closes sends it too, and ends what was started there.
  if (!process.stdin.isTTY) process.on('SIGHUP', () => void running?.reload.check())
  return (started) => {
    running = started
  }
}

/** In several processes; until SIGINT or SIGTERM, also during the start. SIGUSR2 replaces one process after the other. */
export const serveWorkers = async (config: Config, runtime: Runtime, options: SuperviseOptions): Promise<void> => {
  warnOfConfig(config, runtime)
  const untilShutdown = onShutdownSignal(() => forceExitAfter(2 * killMsOf(config), runtime))
  const onStarted = listenForSignals(runtime)
  const gateway = await supervise(config, runtime, options)
  onStarted(gateway)
  console.log(formatGreeting(gateway))
  await untilShutdown()
  await gateway.stop()
  runtime.logger.log('process.stopped', {})
}

/** Until SIGINT or SIGTERM, also during the start; a second signal later ends the process at once. */
export const serveGateway = async (
  config: Config,
  runtime: Runtime,
  role: ServedRole | undefined,
  bounds: GatewayBounds = {},
): Promise<void> => {
  warnOfConfig(config, runtime)
  const die = createFatalExit(runtime)
  const untilShutdown = onShutdownSignal(() => forceExitAfter(stopMsOf(config), runtime))
  const onStarted = listenForSignals(runtime)
  const running =
    role === undefined
      ? await startGateway(config, runtime, die, bounds)
      : await startRole(role, config, runtime, die, bounds)
  onStarted(running)
  console.log('role' in running ? roleGreeting(running) : formatGreeting(running))
  await untilShutdown()
  await running.stop()
  runtime.logger.log('process.stopped', {})
}
