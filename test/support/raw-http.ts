import { once } from 'node:events'
import { connect } from 'node:net'

export interface RawAnswer {
  readonly text: string
  /** Of every response, in their order. */
  readonly statuses: readonly number[]
}

/** All that a server says to these bytes until it ends the connection. */
export const exchangeRaw = async (port: number, bytes: string | Buffer): Promise<RawAnswer> => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  await once(socket, 'close')
  const text = Buffer.concat(chunks).toString('latin1')
  return { text, statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)) }
}
