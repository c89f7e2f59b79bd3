import { Buffer } from 'node:buffer'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { CallRecord } from '../http/calls.ts'
import { Line } from '../http/line.ts'
import type { VideoAnswer } from './answers.ts'
import type { VideoFault } from './directives.ts'

const headersOf = ({ contentType, retryAfter }: VideoAnswer, length: number): OutgoingHttpHeaders => ({
  'content-type': contentType,
  'content-length': length,
  ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
})

/** In one write: the path that a bench measures. */
export const sendPlainly = (response: ServerResponse, answer: VideoAnswer, call: CallRecord): void => {
  if (response.destroyed) {
    call.end('cancelled')
    return
  }
  response.writeHead(answer.status, headersOf(answer, Buffer.byteLength(answer.text))).end(answer.text)
  call.answered(answer.status)
  call.wrote(null)
  call.end('completed')
}

const writeBytes = async (line: Line, bytes: Buffer, pauseMs: number): Promise<void> => {
  for (let at = 0; at < bytes.length && !line.closed; at += 1) {
    if (at > 0) await line.pause(pauseMs)
    await line.flush(bytes.subarray(at, at + 1))
  }
}

const writeBody = async (line: Line, text: string, fault: VideoFault): Promise<void> => {
  const bytes = Buffer.from(text)
  if (fault.break_body) {
    await line.flush(bytes.subarray(0, Math.ceil(bytes.length / 2)))
    return line.break()
  }
  if (fault.trickle_ms !== undefined) return writeBytes(line, bytes, fault.trickle_ms)
  await line.write(bytes)
}

const paddingPiece = ' '.repeat(64 * 1024)

const writePadding = async (line: Line, bytes: number): Promise<void> => {
  for (let left = bytes; left > 0 && !line.closed; left -= paddingPiece.length)
    await line.write(left < paddingPiece.length ? paddingPiece.slice(0, left) : paddingPiece)
}

const writeAnswer = async (line: Line, answer: VideoAnswer, fault: VideoFault, call: CallRecord): Promise<void> => {
  const padding = fault.oversize_bytes ?? 0
  call.answered(answer.status)
  line.head(answer.status, headersOf(answer, Buffer.byteLength(answer.text) + padding))
  await writeBody(line, answer.text, fault)
  await writePadding(line, padding)
  if (line.closed) return
  call.wrote(null)
  await line.end()
}

export const sendShaped = async (
  response: ServerResponse,
  answer: VideoAnswer,
  fault: VideoFault,
  call: CallRecord,
): Promise<void> => {
  const line = new Line(response)
  if (fault.delay_ms !== undefined) await line.pause(fault.delay_ms)
  if (fault.hang) await line.hang()
  if (fault.break) line.break()
  if (!line.closed) await writeAnswer(line, answer, fault, call)
  call.end(line.broken ? 'broken' : line.ended ? 'completed' : 'cancelled')
}
