/**
 * The mock upstream, a process of its own: chat completions as fast as node:http gives them. A call's first path segment says who
 * it came by; the calls that were answered whole are counted by it, since only those of the gateway are in its ledger.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  ordinaryShape,
  type Shape,
  shapeAskedBy,
  streamedChunks,
  streamOf,
  wholeAnswer,
  wholeAnswerOf,
} from './answers.ts'
import { becomeServer } from './child.ts'

export interface Answered {
  readonly whole: number
  readonly streamed: number
}

/** How far the last stream of a caller has come that was not of the ordinary shape. */
export interface Progress {
  readonly chunksWritten: number
  /** The caller's end of the connection. */
  readonly callerPort: number
}

type Mutable<Data> = { -readonly [Member in keyof Data]: Data[Member] }

const answered: Record<string, Mutable<Answered>> = {}
const progress: Record<string, Mutable<Progress>> = {}

const callerOf = (request: IncomingMessage): string => request.url!.split('/', 2)[1]!

const tallyOf = (caller: string): Mutable<Answered> => {
  answered[caller] ??= { whole: 0, streamed: 0 }
  return answered[caller]
}

const streamHead = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

const answerWhole = (response: ServerResponse, { characters }: Shape, tally: Mutable<Answered>): void => {
  response.on('finish', () => {
    tally.whole += 1
  })
  const body = characters === ordinaryShape.characters ? wholeAnswer : wholeAnswerOf(characters)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
}

const trackProgress = (request: IncomingMessage, caller: string): ((count: number) => void) => {
  const tracked = { chunksWritten: 0, callerPort: request.socket.remotePort! }
  progress[caller] = tracked
  return (count) => {
    tracked.chunksWritten = count
  }
}

/** A write a chunk, one in each turn of the event loop or rarer: chunks of one stream leave apart, as tokens do, and as fast as they are read. */
const writeChunks = (
  response: ServerResponse,
  chunks: readonly Buffer[],
  { everyMs }: Shape,
  onWritten?: (count: number) => void,
): void => {
  let next = 0
  const writeOne = (): void => {
    const isRead = response.write(chunks[next]!)
    next += 1
    onWritten?.(next)
    if (next === chunks.length) response.end()
    else if (!isRead) response.once('drain', writeOne)
    else if (everyMs > 0) setTimeout(writeOne, everyMs)
    else setImmediate(writeOne)
  }
  writeOne()
}

const answerStreamed = (request: IncomingMessage, response: ServerResponse, shape: Shape, caller: string): void => {
  const tally = tallyOf(caller)
  response.on('finish', () => {
    tally.streamed += 1
  })
  response.writeHead(200, streamHead)
  if (shape === ordinaryShape) writeChunks(response, streamedChunks, shape)
  else writeChunks(response, streamOf(shape.chunks), shape, trackProgress(request, caller))
}

const readBody = (request: IncomingMessage, onBody: (body: Buffer) => void): void => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => onBody(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)))
}

const show = (response: ServerResponse, value: object): void => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

const keepAliveTimeout = 65_000 // Milliseconds; longer than any client keeps an idle connection.

becomeServer(
  createServer({ keepAliveTimeout, noDelay: true }, (request, response) => {
    if (request.url === '/totals') return show(response, answered)
    if (request.url === '/progress') return show(response, progress)
    readBody(request, (body) => {
      const caller = callerOf(request)
      const shape = shapeAskedBy(body)
      if (body.includes('"stream":true')) answerStreamed(request, response, shape, caller)
      else answerWhole(response, shape, tallyOf(caller))
    })
  }),
)
