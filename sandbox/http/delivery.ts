import { Buffer } from 'node:buffer'
import type { OutgoingHttpHeaders } from 'node:http'
import { type Directives, noDirectives } from '../answers/directives.ts'
import { readFault, sandboxOrganisation } from '../answers/faults.ts'
import type { CallRecord } from './calls.ts'
import { type Answer, type Asked, type Dialect, doneEvent, type Part } from './dialect.ts'
import type { Line } from './line.ts'

/** What real providers send along, none of which may reach a client of ours. */
const providerHeaders: OutgoingHttpHeaders = {
  'set-cookie': ['__cf_bm=sandbox; path=/; HttpOnly; Secure', '_cfuvid=sandbox; path=/; HttpOnly; Secure'],
  'openai-organization': sandboxOrganisation,
  'openai-project': 'proj_SandboxProject',
  'openai-processing-ms': '42',
  'openai-version': '2020-10-01',
  'x-ratelimit-limit-requests': '10000',
  'x-ratelimit-remaining-requests': '9999',
  'x-ratelimit-reset-requests': '6ms',
  'x-ratelimit-limit-tokens': '200000',
  'x-ratelimit-remaining-tokens': '199000',
  'anthropic-organization-id': sandboxOrganisation,
  'anthropic-ratelimit-tokens-limit': '400000',
  'anthropic-ratelimit-tokens-remaining': '399000',
  'x-request-id': 'req_sandbox',
  'cf-ray': 'sandbox-AMS',
  'alt-svc': 'h3=":443"; ma=86400',
}

const headersOf = (answer: Answer, directives: Directives, length: number | null): OutgoingHttpHeaders => ({
  'content-type': answer.contentType,
  ...(answer.stream ? { 'cache-control': 'no-cache' } : {}),
  ...(length === null ? {} : { 'content-length': length }),
  ...(directives.retry_after === undefined || answer.status < 400 ? {} : { 'retry-after': directives.retry_after }),
  ...(directives.cookie ? providerHeaders : {}),
})

const halvesOf = (part: Part): readonly Part[] => {
  const half = Math.ceil(part.text.length / 2)
  return [
    { text: part.text.slice(0, half), reported: null },
    { text: part.text.slice(half), reported: part.reported },
  ]
}

const cutsShort = (directives: Directives): boolean =>
  directives.break_after !== undefined || directives.hang_after !== undefined

/** A whole body that is to be cut short goes in two halves. */
const partsOf = (answer: Answer, directives: Directives): Iterable<Part> =>
  answer.stream || !cutsShort(directives) ? answer.parts : [...answer.parts].flatMap(halvesOf)

const thresholdOf = (answer: Answer, chunks: number | undefined): number =>
  chunks === undefined ? Number.POSITIVE_INFINITY : answer.stream ? chunks : Math.min(chunks, 1)

function* failingAfter(parts: Iterable<Part>, chunks: number, event: () => string): Iterable<Part> {
  let passed = 0
  for (const part of parts) {
    if (passed === chunks) return yield { text: event(), reported: null }
    yield part
    passed += 1
  }
}

export const withStreamError = (answer: Answer, asked: Asked, dialect: Dialect): Answer => {
  const { directives, secrets } = asked
  const chunks = directives.stream_error
  if (!answer.stream || chunks === undefined) return answer
  const event = (): string => dialect.errorEvent(readFault(directives, secrets), asked, chunks)
  return { ...answer, parts: failingAfter(answer.parts, chunks, event) }
}

function* closedByDone(parts: Iterable<Part>): Iterable<Part> {
  yield* parts
  yield doneEvent
}

export const withDone = (answer: Answer, directives: Directives): Answer =>
  answer.stream && directives.done ? { ...answer, parts: closedByDone(answer.parts) } : answer

const shaped = (text: string, answer: Answer, directives: Directives): string => {
  if (!answer.stream) return text
  const commented = directives.comment ? `: sandbox\n\n${text}` : text
  return directives.crlf ? commented.replaceAll('\n', '\r\n') : commented
}

const writeSplit = async (line: Line, text: string, pieceBytes: number): Promise<void> => {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length && !line.closed; at += pieceBytes)
    await line.flush(bytes.subarray(at, at + pieceBytes))
}

const writeText = (line: Line, text: string, directives: Directives): Promise<void> => {
  if (directives.split !== undefined) return writeSplit(line, text, directives.split)
  return directives === noDirectives ? line.write(text) : line.flush(text)
}

const stopsAt = async (line: Line, answer: Answer, directives: Directives, sent: number): Promise<boolean> => {
  if (sent === thresholdOf(answer, directives.hang_after)) {
    await line.hang()
    return true
  }
  if (sent !== thresholdOf(answer, directives.break_after)) return false
  line.break()
  return true
}

const writeParts = async (line: Line, answer: Answer, directives: Directives, call: CallRecord): Promise<boolean> => {
  let sent = 0
  for (const part of partsOf(answer, directives)) {
    if (await stopsAt(line, answer, directives, sent)) return false
    if (sent > 0 && directives.chunk_delay_ms !== undefined) await line.pause(directives.chunk_delay_ms)
    if (line.closed) return false
    await writeText(line, shaped(part.text, answer, directives), directives)
    if (line.closed) return false
    call.wrote(part.reported)
    sent += 1
  }
  return !(await stopsAt(line, answer, directives, sent))
}

const lengthOf = (answer: Answer, directives: Directives): number | null => {
  if (answer.stream || directives.split !== undefined) return null
  return [...answer.parts].reduce((bytes, part) => bytes + Buffer.byteLength(part.text), 0)
}

export const deliver = async (
  line: Line,
  answer: Answer,
  directives: Directives,
  call: CallRecord,
): Promise<'completed' | 'broken' | 'cancelled'> => {
  if (line.closed) return 'cancelled'
  call.answered(answer.status)
  line.head(answer.status, headersOf(answer, directives, lengthOf(answer, directives)))
  if (directives.first_chunk_delay_ms !== undefined) await line.pause(directives.first_chunk_delay_ms)
  const whole = await writeParts(line, answer, directives, call)
  if (!whole) return line.broken ? 'broken' : 'cancelled'
  await line.end()
  return line.ended ? 'completed' : 'cancelled'
}
