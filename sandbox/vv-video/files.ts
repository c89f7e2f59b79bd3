import { Buffer } from 'node:buffer'
import { signatureOf } from '../answers/signature.ts'
import type { Handler } from '../http/exchange.ts'
import type { Moment } from './answers.ts'
import type { VideoTask } from './records.ts'

const usualUrlMs = 3_600_000

export const filePath = /^\/sandbox\/files\/[^/]+\.mp4$/

/** Valid until its signature ends. Each query signs anew. */
export const signedFileUrl = ({ id, course }: VideoTask, name: string, { nowMs, host }: Moment): string => {
  const path = `/sandbox/files/${id}-${name}.mp4`
  const expires = Math.ceil((nowMs + (course.url_ms ?? usualUrlMs)) / 1_000)
  const signature = encodeURIComponent(signatureOf(`${path} ${expires}`))
  return `http://${host}${path}?expires=${expires}&signature=${signature}`
}

const box = (type: string, ...contents: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(contents)
  const head = Buffer.alloc(8)
  head.writeUInt32BE(head.length + body.length)
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, body])
}

const movieHeaderBytes = 100
const wholeRate = 0x00010000
const wholeVolume = 0x0100

/** Of a movie of one second and no tracks, as ISO 14496-12 lays it out. */
const movieHeader = (): Buffer => {
  const header = Buffer.alloc(movieHeaderBytes)
  header.writeUInt32BE(1_000, 12)
  header.writeUInt32BE(1_000, 16)
  header.writeUInt32BE(wholeRate, 20)
  header.writeUInt16BE(wholeVolume, 24)
  for (const at of [36, 52]) header.writeUInt32BE(wholeRate, at)
  header.writeUInt32BE(0x40000000, 68)
  header.writeUInt32BE(1, 96)
  return header
}

/** The smallest MP4 that is one: its brand, and a movie without tracks. */
const tinyVideo = Buffer.concat([
  box('ftyp', Buffer.from('isom\0\0\x02\0isomiso2mp41', 'latin1')),
  box('moov', box('mvhd', movieHeader())),
  box('mdat'),
])

/** `GET /sandbox/files/<name>.mp4?expires=<seconds>&signature=<…>`: 403 once the signature has ended. */
export const sendFile =
  (clock: () => number): Handler =>
  (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://sandbox')
    const expires = searchParams.get('expires') ?? ''
    const isSigned = searchParams.get('signature') === signatureOf(`${pathname} ${expires}`)
    if (!isSigned || Number(expires) * 1_000 <= clock()) {
      response.writeHead(403, { 'content-type': 'text/plain' }).end('The signature is wrong, or has expired.\n')
      return
    }
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': tinyVideo.length }).end(tinyVideo)
  }
