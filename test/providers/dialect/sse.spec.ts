import fc from 'fast-check'
import t from 'tap'
import { type SseEvent, SseSplitter } from '../../../src/providers/dialect/sse.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const split = (pieces: readonly Uint8Array[]): readonly SseEvent[] => {
  const splitter = new SseSplitter()
  const events = pieces.flatMap((piece) => splitter.push(piece))
  const last = splitter.end()
  return last === null ? events : [...events, last]
}

const bytesOf = (text: string): Buffer => Buffer.from(text)
const dataOf = (text: string): (string | null)[] => split([bytesOf(text)]).map(({ data }) => data)

t.test('the shapes of an event', async (t) => {
  const table: readonly [string, (string | null)[]][] = [
    ['data: a\n\ndata: b\n\n', ['a', 'b']],
    ['data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['data: a\r\rdata: b\r\r', ['a', 'b']],
    ['data:a\n\n', ['a']],
    ['data:  a \n\n', [' a ']],
    ['data: a\ndata: b\n\n', ['a\nb']],
    ['data\n\n', ['']],
    [': comment\n\ndata: a\n\n', [null, 'a']],
    [': comment\ndata: a\n\n', ['a']],
    ['id: 7\nevent: x\nretry: 3\ndata: a\n\n', ['a']],
    ['\n\ndata: a\n\n', [null, null, 'a']],
    ['\uFEFFdata: a\n\n', ['a']],
    ['data: a\n', ['a']],
    ['data: a', ['a']],
    ['database: a\n\n', [null]],
    ['data: {"text":"naïve 🙂\u2028"}\n\n', ['{"text":"naïve 🙂\u2028"}']],
  ]
  for (const [index, [text, expected]] of table.entries()) t.strictSame(dataOf(text), expected, `line ${index}`)
  t.equal(split([bytesOf('event: error\ndata: a\n\n')])[0]?.name, 'error')
})

const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
const text = fc.string({ unit: 'binary', maxLength: 12 }).map((each) => each.replace(/[\r\n\uFEFF]/g, '·'))
const line = fc.oneof(
  text.map((value) => `data: ${value}`),
  text.map((value) => `: ${value}`),
  text.map((value) => `event: ${value}`),
)
const block = fc
  .tuple(fc.array(line, { maxLength: 3 }), lineEnd)
  .map(([lines, end]) => `${lines.map((each) => each + end).join('')}${end}`)
const stream = fc.array(block, { maxLength: 8 }).map((blocks) => bytesOf(blocks.join('')))

const cut = (bytes: Buffer, places: readonly number[]): Buffer[] => {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...at, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : at[index - 1], end))
}

/** A line feed that was cut off goes back to its event. */
const whole = (events: readonly SseEvent[]): { data: string | null; name: string | null; raw: string }[] => {
  const joined: { data: string | null; name: string | null; raw: Buffer }[] = []
  for (const { data, name, raw, tail } of events) {
    const before = joined.at(-1)
    if (tail && before !== undefined) before.raw = Buffer.concat([before.raw, raw])
    else joined.push({ data, name, raw: Buffer.from(raw) })
  }
  return joined.map(({ data, name, raw }) => ({ data, name, raw: raw.toString('hex') }))
}

t.test('any cut gives the same events, byte by byte', async () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 12 }), (bytes, places) => {
      const uncut = whole(split([bytes]))
      const pieces = whole(split(cut(bytes, places)))
      if (JSON.stringify(uncut) !== JSON.stringify(pieces))
        throw new Error(`${JSON.stringify(uncut)} ${JSON.stringify(pieces)}`)
      if (pieces.map(({ raw }) => raw).join('') !== bytes.toString('hex')) throw new Error('bytes were lost')
    }),
    propertyRuns(500),
  )
})

t.test('one byte at a time', async (t) => {
  const bytes = bytesOf('data: é🙂\r\n\r\n: c\n\ndata: b\r\rdata: [DONE]\n\n')
  t.strictSame(whole(split([...bytes].map((byte) => Uint8Array.of(byte)))), whole(split([bytes])))
})

t.test('an event is bounded, in one piece or in many', async (t) => {
  const long = `data: ${'x'.repeat(100)}\n\n`
  t.throws(() => new SseSplitter(64).push(bytesOf(long)), /more than 64 bytes/)
  const splitter = new SseSplitter(64)
  t.throws(() => {
    for (const byte of bytesOf(long)) splitter.push(Uint8Array.of(byte))
  }, /more than 64 bytes/)
  t.equal(new SseSplitter(64).push(bytesOf('data: x\n\n'.repeat(100))).length, 100)
})

t.test('a named event is read alike however its lines end and its fields stand', async (t) => {
  for (const end of ['\n', '\r\n', '\r'])
    for (const text of ['event: ping\ndata: {}\n\n', 'event:ping\ndata:{}\n\n', 'data: {}\nevent: ping\n\n'])
      t.match(split([bytesOf(text.replaceAll('\n', end))]), [{ name: 'ping', data: '{}' }], JSON.stringify([text, end]))
  t.match(split([bytesOf('event: one\nevent: two\n\n')]), [{ name: 'two', data: null }])
  t.match(split([bytesOf('event: a\ndata: 1\ndata: 2\n\n')]), [{ name: 'a', data: '1\n2' }])
})
