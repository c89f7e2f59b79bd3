import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { HttpContext } from '../../../http/context.ts'

export interface BodyBound {
  readonly bytesMax: number
  readonly refusal: () => GatewayError
}

export type BodyBoundOf = (ctx: HttpContext) => BodyBound

const tooLarge = (bytesMax: number): GatewayError =>
  new GatewayError('request_too_large', `The request body is larger than ${bytesMax} bytes.`)

export const boundAt = (bytesMax: number): BodyBoundOf => {
  const bound: BodyBound = { bytesMax, refusal: () => tooLarge(bytesMax) }
  return () => bound
}

const endedEarly = (): GatewayError =>
  new GatewayError('invalid_request', 'The connection ended before the request body did.')

const collect = (request: IncomingMessage, { bytesMax, refusal }: BodyBound): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const leave = (): void => {
      request.off('data', take).off('end', finish).off('close', breakOff)
    }
    const take = (chunk: Buffer): void => {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes <= bytesMax) return
      leave()
      request.pause() // Until it is answered: see `UnreadBodies`.
      reject(refusal())
    }
    const finish = (): void => {
      leave()
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes))
    }
    const breakOff = (): void => {
      leave()
      reject(endedEarly())
    }
    request.on('data', take).on('end', finish).on('close', breakOff)
    request.on('error', () => undefined) // `close` follows.
  })

/** Throws the refusal of its bound, without reading anything where the length is announced. */
export const readRequestBody = (request: IncomingMessage, bound: BodyBound): Promise<Buffer> => {
  const announced = Number(request.headers['content-length'] ?? 0)
  return announced > bound.bytesMax ? Promise.reject(bound.refusal()) : collect(request, bound)
}
