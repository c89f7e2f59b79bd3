import { createServer } from 'node:net'
import { faultCode } from '../errors/gateway-error.ts'
import { CommandError } from './report.ts'

/** Where a process listens, and by which settings. */
export interface ChosenPort {
  readonly host: string
  readonly port: number
  /** As a person writes them. */
  readonly settings: string
}

const portErrors: ReadonlyMap<unknown, string> = new Map([
  ['EADDRINUSE', 'is taken by another process'],
  ['EACCES', 'may not be opened by this user'],
  ['EADDRNOTAVAIL', 'is of no address of this machine'],
])

/** Waits for somebody to listen. Throws CommandError that names the settings where the port cannot be had; any other fault passes as it is. */
export const withPortErrors = async <T>({ host, port, settings }: ChosenPort, listening: Promise<T>): Promise<T> => {
  try {
    return await listening
  } catch (cause) {
    const hindrance = portErrors.get(faultCode(cause))
    if (hindrance === undefined) throw cause
    throw new CommandError(`port ${port} of ${host} ${hindrance}: choose another with ${settings}`)
  }
}

/** Whether a port can be had, asked before anything is started for it. Throws as `listeningAt` does. */
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
