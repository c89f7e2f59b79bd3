import t from 'tap'
import { chunksPerStream, streamedChunks, wholeAnswer } from './answers.ts'
import { ResponseReader } from './response-reader.ts'

const counted = Buffer.concat([
  Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${wholeAnswer.length}\r\n\r\n`),
  wholeAnswer,
])

const chunked = Buffer.concat([
  Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
  ...streamedChunks.flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
  Buffer.from('0\r\n\r\n'),
])

const refused = Buffer.from('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}')

const cutAt = (response: Buffer, place: number): readonly Buffer[] => [
  response.subarray(0, place),
  response.subarray(place),
]

t.test('a response ends with its last byte, wherever it is cut', async (test) => {
  const reader = new ResponseReader()
  const wrong: number[] = []
  for (const [response, chunks] of [
    [counted, 0],
    [chunked, chunksPerStream],
  ] as const)
    for (let place = 1; place < response.length; place += 1) {
      reader.begin()
      const ends = cutAt(response, place).map((piece) => reader.push(piece))
      if (ends[0] || !ends[1] || reader.chunks !== chunks || reader.status !== 200) wrong.push(place)
    }
  test.strictSame(wrong, [])
})

t.test('byte by byte, and one response after the other', async (test) => {
  const reader = new ResponseReader()
  for (const response of [counted, chunked, refused]) {
    reader.begin()
    const ends = Array.from(response, (byte) => reader.push(Buffer.of(byte)))
    test.equal(ends.indexOf(true), response.length - 1)
  }
  test.equal(reader.status, 503)
})
