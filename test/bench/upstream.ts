/**
 * The mock upstream, a process of its own: chat completions as fast as node:http gives them. A call's first path segment says who
 * it came by; the calls that were answered whole are counted by it, since only those of the gateway are in its ledger.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { streamedChunks, wholeAnswer } from './answers.ts'
import { becomeServer } from './child.ts'

export interface Answered {
  readonly whole: number
  readonly streamed: number
}

type Tally = { -readonly [Kind in keyof Answered]: Answered[Kind] }

const answered: Record<string, Tally> = {}

const tallyOf = (request: IncomingMessage): Tally => {
  const caller = request.url!.split('/', 2)[1]!
  answered[caller] ??= { whole: 0, streamed: 0 }
  return answered[caller]
}

const wholeHead = { 'content-type': 'application/json', 'content-length': wholeAnswer.length }
const streamHead = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

const answerWhole = (response: ServerResponse, tally: Tally): void => {
  response.on('finish', () => {
    tally.whole += 1
  })
  response.writeHead(200, wholeHead).end(wholeAnswer)
}

/** A write a chunk, one in each turn of the event loop: chunks of one stream leave apart, as tokens do. */
const answerStreamed = (response: ServerResponse, tally: Tally): void => {
  response.on('finish', () => {
    tally.streamed += 1
  })
  response.writeHead(200, streamHead)
  let next = 0
  const writeOne = (): void => {
    response.write(streamedChunks[next]!)
    next += 1
    if (next < streamedChunks.length) setImmediate(writeOne)
    else response.end()
  }
  writeOne()
}

const readBody = (request: IncomingMessage, onBody: (body: Buffer) => void): void => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => onBody(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)))
}

const showTotals = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answered))
}

const keepAliveTimeout = 65_000 // Milliseconds; longer than any client keeps an idle connection.

becomeServer(
  createServer({ keepAliveTimeout, noDelay: true }, (request, response) => {
    if (request.url === '/totals') return showTotals(response)
    readBody(request, (body) =>
      (body.includes('"stream":true') ? answerStreamed : answerWhole)(response, tallyOf(request)),
    )
  }),
)
