import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Connects to the server of a URL. */
export const openSocket = async (url: string): Promise<Socket> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  return socket
}
