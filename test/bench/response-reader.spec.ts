import t from 'tap'
import { answers, marksIn } from './answers.ts'
import { formats } from './content.ts'
import { ResponseReader } from './response-reader.ts'

const counted = (body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`),
    body,
  ])

const chunked = (pieces: readonly Buffer[]): Buffer =>
  Buffer.concat([
    Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
    ...pieces.flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
    Buffer.from('0\r\n\r\n'),
  ])

const refused = Buffer.from('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}')

const cutAt = (response: Buffer, place: number): readonly Buffer[] => [
  response.subarray(0, place),
  response.subarray(place),
]

/** Where a response, cut in two, is not read as it is. */
const wrongPlaces = (response: Buffer, marks: number): readonly number[] => {
  const reader = new ResponseReader()
  const wrong: number[] = []
  for (let place = 1; place < response.length; place += 1) {
    reader.begin()
    const ends = cutAt(response, place).map((piece) => reader.push(piece))
    if (ends[0] || !ends[1] || reader.marks !== marks || reader.status !== 200) wrong.push(place)
  }
  return wrong
}

for (const format of formats)
  t.test(`a response in ${format} ends with its last byte, wherever it is cut`, async (test) => {
    const { whole, stream } = answers[format]
    test.strictSame(wrongPlaces(counted(whole), 0), [])
    test.strictSame(wrongPlaces(chunked(stream), marksIn(format, true)), [])
  })

t.test(
  'a whole answer holds no mark, a stream one a chunk, and a responses stream repeats its text four times',
  async (test) => {
    test.strictSame(
      formats.map((format) => [marksIn(format, false), marksIn(format, true)]),
      [
        [0, 50],
        [0, 50],
        [0, 250],
      ],
    )
  },
)

t.test('byte by byte, and one response after the other', async (test) => {
  const reader = new ResponseReader()
  const { whole, stream } = answers.chat
  for (const response of [counted(whole), chunked(stream), refused]) {
    reader.begin()
    const ends = Array.from(response, (byte) => reader.push(Buffer.of(byte)))
    test.equal(ends.indexOf(true), response.length - 1)
  }
  test.equal(reader.status, 503)
})
