/**
 * The mock upstream, a process of its own: chat completions, messages and responses as fast as node:http gives them. A call's first
 * path segment says who it came by; the calls that were answered to their end are counted by it and by their format, since only
 * those of the gateway are in its ledger.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { answers } from './answers.ts'
import { streamOf, wholeAnswerOf } from './chat-answers.ts'
import { becomeServer } from './child.ts'
import { type Format, formats, ownDigits } from './content.ts'
import { type Counts, noCounts } from './price.ts'
import { paths } from './routes.ts'
import { ordinaryShape, type Shape, shapeAskedBy } from './shape.ts'

/** How far the last stream of a caller has come that was not of the ordinary shape. */
export interface Progress {
  readonly chunksWritten: number
  /** The caller's end of the connection. */
  readonly callerPort: number
}

type Mutable<Data> = { -readonly [Member in keyof Data]: Data[Member] }

const answered: Record<string, Mutable<Counts>> = {}
const progress: Record<string, Mutable<Progress>> = {}

interface Call {
  readonly caller: string
  readonly format: Format
}

/** Undefined where nothing is served. */
const callOf = ({ url = '' }: IncomingMessage): Call | undefined => {
  const callerEnd = url.indexOf('/', 1)
  const path = url.slice(callerEnd)
  const format = formats.find((each) => paths[each] === path)
  return format === undefined ? undefined : { caller: url.slice(1, callerEnd), format }
}

const count = ({ caller, format }: Call): void => {
  answered[caller] ??= { ...noCounts }
  answered[caller][format] += 1
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

const wholeOf = (format: Format, { characters }: Shape): Buffer =>
  characters === ordinaryShape.characters ? bytesOf(pieces[format].whole, nextDigits()) : wholeAnswerOf(characters)

const answerWhole = (response: ServerResponse, format: Format, shape: Shape): void => {
  const body = wholeOf(format, shape)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
}

const trackProgress = (request: IncomingMessage, caller: string): ((count: number) => void) => {
  const tracked = { chunksWritten: 0, callerPort: request.socket.remotePort! }
  progress[caller] = tracked
  return (written) => {
    tracked.chunksWritten = written
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

const ordinaryStream = (format: Format): readonly Buffer[] => {
  const digits = nextDigits()
  return pieces[format].stream.map((piece) => bytesOf(piece, digits))
}

const streamHead = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

const answerStreamed = (request: IncomingMessage, response: ServerResponse, call: Call, shape: Shape): void => {
  response.writeHead(200, streamHead)
  if (shape === ordinaryShape) writeChunks(response, ordinaryStream(call.format), shape)
  else writeChunks(response, streamOf(shape.chunks), shape, trackProgress(request, call.caller))
}

const readBody = (request: IncomingMessage, onBody: (body: Buffer) => void): void => {
  const read: Buffer[] = []
  request.on('data', (piece: Buffer) => read.push(piece))
  request.on('end', () => onBody(read.length === 1 ? read[0]! : Buffer.concat(read)))
}

/** Some gateways write a blank after the colon. */
const asksForStream = (body: Buffer): boolean => body.includes('"stream":true') || body.includes('"stream": true')

const answer = (request: IncomingMessage, response: ServerResponse, call: Call, body: Buffer): void => {
  response.on('finish', () => count(call))
  const shape = call.format === 'chat' ? shapeAskedBy(body) : ordinaryShape
  if (asksForStream(body)) answerStreamed(request, response, call, shape)
  else answerWhole(response, call.format, shape)
}

const show = (response: ServerResponse, value: object): void => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

const keepAliveTimeout = 65_000 // Milliseconds; longer than any client keeps an idle connection.

becomeServer(
  createServer({ keepAliveTimeout, noDelay: true }, (request, response) => {
    if (request.url === '/totals') return show(response, answered)
    if (request.url === '/progress') return show(response, progress)
    const call = callOf(request)
    if (call === undefined) response.writeHead(404).end()
    else readBody(request, (body) => answer(request, response, call, body))
  }),
  Number(process.argv[2] ?? 0),
)
