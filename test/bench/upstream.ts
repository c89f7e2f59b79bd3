/**
 * The mock upstream, a process of its own: chat completions, messages and responses as fast as node:http gives them. A call's first
 * path segment says who it came by; the calls that were answered to their end are counted by it and by their format, since only
 * those of the gateway are in its ledger.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { answers } from './answers.ts'
import { becomeServer } from './child.ts'
import { type Format, formats, ownDigits } from './content.ts'
import type { Counts } from './price.ts'
import { paths } from './routes.ts'

type Tally = { -readonly [F in Format]: Counts[F] }

const answered: Record<string, Tally> = {}

interface Call {
  readonly format: Format
  readonly tally: Tally
}

/** Undefined where nothing is served. */
const callOf = ({ url = '' }: IncomingMessage): Call | undefined => {
  const callerEnd = url.indexOf('/', 1)
  const caller = url.slice(1, callerEnd)
  const path = url.slice(callerEnd)
  const format = formats.find((each) => paths[each] === path)
  if (format === undefined) return undefined
  answered[caller] ??= { chat: 0, messages: 0, responses: 0 }
  return { format, tally: answered[caller] }
}

/** Bytes of an answer, and where in them its own digits stand; -1 where they have none. */
interface Piece {
  readonly bytes: Buffer
  readonly digitsAt: number
}

const pieceOf = (bytes: Buffer): Piece => ({ bytes, digitsAt: bytes.indexOf(ownDigits) })

const pieces = {
  chat: { whole: pieceOf(answers.chat.whole), stream: answers.chat.stream.map(pieceOf) },
  messages: { whole: pieceOf(answers.messages.whole), stream: answers.messages.stream.map(pieceOf) },
  responses: { whole: pieceOf(answers.responses.whole), stream: answers.responses.stream.map(pieceOf) },
}

let begun = 0

const nextDigits = (): string => {
  begun += 1
  return String(begun).padStart(ownDigits.length, '0')
}

const bytesOf = ({ bytes, digitsAt }: Piece, digits: string): Buffer => {
  if (digitsAt < 0) return bytes
  const own = Buffer.from(bytes)
  own.write(digits, digitsAt, 'latin1')
  return own
}

const streamHead = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

const answerWhole = (response: ServerResponse, { whole }: (typeof pieces)[Format]): void => {
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': whole.bytes.length })
    .end(bytesOf(whole, nextDigits()))
}

/** A write a chunk, one in each turn of the event loop: chunks of one stream leave apart, as tokens do. */
const answerStreamed = (response: ServerResponse, { stream }: (typeof pieces)[Format]): void => {
  const digits = nextDigits()
  response.writeHead(200, streamHead)
  let next = 0
  const writeOne = (): void => {
    response.write(bytesOf(stream[next]!, digits))
    next += 1
    if (next < stream.length) setImmediate(writeOne)
    else response.end()
  }
  writeOne()
}

const readBody = (request: IncomingMessage, onBody: (body: Buffer) => void): void => {
  const read: Buffer[] = []
  request.on('data', (piece: Buffer) => read.push(piece))
  request.on('end', () => onBody(read.length === 1 ? read[0]! : Buffer.concat(read)))
}

const answer = (response: ServerResponse, { format, tally }: Call, body: Buffer): void => {
  response.on('finish', () => {
    tally[format] += 1
  })
  ;(body.includes('"stream":true') ? answerStreamed : answerWhole)(response, pieces[format])
}

const showTotals = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answered))
}

const keepAliveTimeout = 65_000 // Milliseconds; longer than any client keeps an idle connection.

becomeServer(
  createServer({ keepAliveTimeout, noDelay: true }, (request, response) => {
    if (request.url === '/totals') return showTotals(response)
    const call = callOf(request)
    if (call === undefined) response.writeHead(404).end()
    else readBody(request, (body) => answer(response, call, body))
  }),
)
