import { createServer as createHttpServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { type CertificateFiles, readCertificate } from '../../../runtime/certificate.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { ThrottledWarning } from '../../../runtime/throttled-warning.ts'

const minVersion = 'TLSv1.2'

interface TlsBounds {
  readonly tlsHandshakeMs: number
  readonly tlsHandshakesMax: number
  readonly tlsReloadMs: number
}

const peerOf = ({ localAddress, remoteAddress, remotePort }: Socket): string =>
  `${localAddress} ${remoteAddress} ${remotePort}`

/** Beyond its bound the oldest gives way: an honest one takes milliseconds, and those that wait would keep others out. */
class Handshakes {
  readonly #open = new Map<string, Socket>()

  constructor(server: HttpsServer, openMax: number) {
    server.prependListener('connection', (socket: Socket) => this.#begin(socket, openMax))
    server.on('secureConnection', (socket) => this.#open.delete(peerOf(socket)))
  }

  close(): void {
    for (const socket of this.#open.values()) socket.destroy()
  }

  #begin(socket: Socket, openMax: number): void {
    const peer = peerOf(socket)
    this.#open.set(peer, socket)
    socket.once('close', () => {
      if (this.#open.get(peer) === socket) this.#open.delete(peer)
    })
    if (this.#open.size <= openMax) return
    const [oldest] = this.#open.values()
    oldest?.destroy()
  }
}

const watchCertificate = (
  server: HttpsServer,
  files: CertificateFiles,
  { logger, everyMs }: { readonly logger: Logger; readonly everyMs: number },
): (() => void) => {
  const warning = new ThrottledWarning(logger)
  const file = files.certFile
  let present = readCertificate(files)
  const reload = (): void => {
    try {
      const read = readCertificate(files)
      warning.clear('tls.certificate_usable', { file })
      if (isDeepStrictEqual(read, present)) return
      present = read
      server.setSecureContext({ cert: read.cert, key: read.key, minVersion })
      logger.log('tls.certificate_reloaded', { file })
    } catch (fault) {
      warning.raise('tls.certificate_rejected', { fault })
    }
  }
  const timer = setInterval(reload, everyMs).unref()
  return () => clearInterval(timer)
}

interface OpenedServer {
  readonly server: Server
  readonly scheme: 'http' | 'https'
  /** Ends what is no request yet, and what runs beside the server. */
  close(): void
}

interface TlsParts {
  readonly bounds: TlsBounds
  readonly logger: Logger
}

export const openHttpServer = (
  options: ServerOptions,
  handler: RequestListener,
  files: CertificateFiles | undefined,
  { bounds, logger }: TlsParts,
): OpenedServer => {
  if (files === undefined) return { server: createHttpServer(options, handler), scheme: 'http', close: () => undefined }
  const { tlsHandshakeMs: handshakeTimeout, tlsHandshakesMax, tlsReloadMs: everyMs } = bounds
  const server = createHttpsServer({ ...options, ...readCertificate(files), minVersion, handshakeTimeout }, handler)
  // Node's own listener hands it to `clientError`, which would answer in HTTP.
  server.removeAllListeners('tlsClientError').on('tlsClientError', (_fault, socket) => socket.destroy())
  const handshakes = new Handshakes(server, tlsHandshakesMax)
  const stopWatching = watchCertificate(server, files, { logger, everyMs })
  const close = (): void => {
    stopWatching()
    handshakes.close()
  }
  return { server, scheme: 'https', close }
}
