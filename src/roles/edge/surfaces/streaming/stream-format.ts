import type { GatewayError } from '../../../../errors/gateway-error.ts'

export interface StreamFormat {
  /** Sent while the stream is idle, so that no proxy drops the connection. */
  readonly keepAlive: Uint8Array
  /** Receives every chunk of the stream but our own. */
  observe?(piece: Uint8Array): void
  /** An error in the format of the surface, with the stream's own end. */
  errorEvent(error: GatewayError): Uint8Array
}

/** A comment, which every parser of events ignores. */
export const keepAliveComment = Buffer.from(': keep-alive\n\n')
