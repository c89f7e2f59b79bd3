import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { get as getByTls } from 'node:https'
import { createServer } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Config } from '../config/config.ts'
import { faultCode } from '../errors/gateway-error.ts'
import { cliLimits } from './command-limits.ts'
import { CommandError } from './report.ts'

interface ChosenPort {
  readonly host: string
  readonly port: number
  readonly settings: string
}

const portErrors: ReadonlyMap<unknown, string> = new Map([
  ['EADDRINUSE', 'is taken by another process'],
  ['EACCES', 'may not be opened by this user'],
  ['EADDRNOTAVAIL', 'is of no address of this machine'],
])

/** Throws CommandError that names the settings where the port cannot be had; rethrows any other fault. */
export const withPortErrors = async <T>({ host, port, settings }: ChosenPort, listening: Promise<T>): Promise<T> => {
  try {
    return await listening
  } catch (cause) {
    const hindrance = portErrors.get(faultCode(cause))
    if (hindrance === undefined) throw cause
    throw new CommandError(`port ${port} of ${host} ${hindrance}: choose another with ${settings}`)
  }
}

/** For use before anything is started that would need the port. Throws as `withPortErrors` does. */
export const assertPortFree = async (chosen: ChosenPort): Promise<void> => {
  const { host, port } = chosen
  const server = createServer()
  const opened = new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, resolve)
  })
  await withPortErrors(chosen, opened)
  await new Promise((resolve) => server.close(resolve))
}

export const assertListenPortFree = ({ listen }: Pick<Config, 'listen'>): Promise<void> =>
  assertPortFree({ ...listen, settings: '--port, or `listen.port` of the configuration' })

interface Port {
  readonly host: string
  readonly port: number
  readonly tls?: object | undefined
}

export const isGateway = async ({ host, port, tls }: Port): Promise<boolean> => {
  try {
    const options = { host, port, path: '/healthz', signal: AbortSignal.timeout(cliLimits.observeMs) }
    // Whose name the certificate has does not matter here.
    const request = tls === undefined ? get(options) : getByTls({ ...options, rejectUnauthorized: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return typeof Object(await json(response)).status === 'string'
  } catch {
    return false
  }
}
