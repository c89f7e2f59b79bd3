import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Witness, WitnessAnswer } from '../../audit/witness.ts'
import type { Logger } from '../../runtime/logger.ts'
import { PlainListener } from '../plain-listener.ts'
import { witnessLimits } from './limits.ts'

interface Answer extends Pick<WitnessAnswer, 'type' | 'body'> {
  readonly status: number
}

const textType = 'text/plain; charset=utf-8'
const tooLarge: Answer = { status: 413, type: textType, body: 'the request is too large\n' }
const notFound: Answer = {
  status: 404,
  type: textType,
  body: 'There are POST /add-checkpoint, GET /<SHA-256 of the origin>/checkpoint and GET /healthz.\n',
}

/** Null where it is too large. */
const readBody = async (request: IncomingMessage): Promise<string | null> => {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > witnessLimits.witnessBodyBytesMax) return null
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

const answerTo = async (request: IncomingMessage, witness: Witness): Promise<Answer> => {
  const { method, url = '' } = request
  if (method === 'POST' && url === '/add-checkpoint') {
    const body = await readBody(request)
    return body === null ? tooLarge : witness.addCheckpoint(body)
  }
  if (method !== 'GET') return notFound
  if (url === '/healthz') return { status: 200, type: 'application/json', body: '{"status":"ok"}' }
  const [, name] = /^\/([0-9a-f]{64})\/checkpoint$/.exec(url) ?? []
  return name === undefined ? notFound : witness.readCheckpoint(name)
}

/** The two prefixes of a witness (C2SP `tlog-witness`) are this server's root. */
export const createWitnessListener = (witness: Witness, logger: Logger): PlainListener =>
  new PlainListener({
    connectionsMax: witnessLimits.witnessConnectionsMax,
    requestTimeoutMs: witnessLimits.witnessBodyMs,
    answer: async (request: IncomingMessage, response: ServerResponse) => {
      try {
        const { status, type, body } = await answerTo(request, witness)
        response.writeHead(status, {
          'Content-Type': type,
          'Cache-Control': 'no-store',
          ...(status === tooLarge.status ? { Connection: 'close' } : {}),
        })
        response.end(body)
      } catch (fault) {
        if (request.destroyed && !request.complete) return // The caller went away, or sent too slowly.
        logger.log('witness.state_unusable', { fault })
        response.writeHead(500).end()
      }
    },
  })
