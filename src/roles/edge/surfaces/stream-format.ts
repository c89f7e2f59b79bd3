import type { GatewayError } from '../../../errors/gateway-error.ts'

/** What a surface itself says within a stream. */
export interface StreamFormat {
  /** Said in silence, so that nothing on the way drops the connection. */
  readonly keepAlive: Uint8Array
  /** Hears what the stream says otherwise, piece by piece. */
  observe?(piece: Uint8Array): void
  /** An error in the words of the surface, with the stream's own end. */
  errorEvent(error: GatewayError): Uint8Array
}

/** A comment, which every reader of events passes over. */
export const keepAliveComment = Buffer.from(': keep-alive\n\n')
