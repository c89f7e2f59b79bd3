import t from 'tap'
import type { RequestOutcome } from '../../../../../src/roles/edge/admission/idempotency/key-lease.ts'
import {
  captureResponse,
  captureShares,
  captureStream,
} from '../../../../../src/roles/edge/surfaces/inference/capture-answer.ts'
import { sharedLimits } from '../../../../../src/runtime/limits.ts'

type Parts = Parameters<typeof captureStream>[0]

const head = { type: 'head', contentType: 'text/event-stream', level: 0, model: 'm' } as const
const bytesOf = (text: string) => ({ type: 'bytes', bytes: Buffer.from(text) }) as const

const startCapture = (parts: Parts, captured = captureShares(), workspaceId = 'acme') => {
  const stored: string[] = []
  const held = {
    store: async ({ body }: RequestOutcome) => void stored.push(Buffer.from(body).toString()),
    storeNothing: async (why: string) => void stored.push(`nothing: ${why}`),
  }
  const headersOf = () => ({})
  const logger = { log: () => t.fail('it is stored') }
  return { stream: captureStream(parts, { held, headersOf, workspaceId }, { captured, logger }), stored }
}

const readAll = async (stream: Parts): Promise<number> => {
  let parts = 0
  for await (const _part of stream) parts += 1
  return parts
}

async function* wholeStream(): AsyncGenerator<typeof head | ReturnType<typeof bytesOf>> {
  yield head
  for (const word of ['one ', 'two ', 'three']) yield bytesOf(word)
}

t.test('what its client does not read is stored too', async (t) => {
  const { stream, stored } = startCapture(wholeStream())
  await stream.next()
  await stream.next()
  await stream.return(undefined)
  t.same(stored, ['one two three'])
})

t.test(
  'a stream that breaks off after its client has left: its fault is thrown, and the part is not stored',
  async (t) => {
    const broken = async function* (): AsyncGenerator<typeof head | ReturnType<typeof bytesOf>> {
      yield* [head, bytesOf('one ')]
      throw new Error('broken off')
    }
    const { stream, stored } = startCapture(broken())
    await stream.next()
    await stream.next()
    await t.rejects(stream.return(undefined), /broken off/)
    t.same(stored, ['nothing: stream'])
  },
)

t.test('what all streams of an edge may take is given back', async (t) => {
  const budget = captureShares(20)
  const [first, second] = [startCapture(wholeStream(), budget), startCapture(wholeStream(), budget)]
  await Promise.all([readAll(first.stream), readAll(second.stream)])
  t.same([...first.stored, ...second.stored].sort(), ['nothing: size', 'one two three'])
  const third = startCapture(wholeStream(), budget)
  t.equal(await readAll(third.stream), 4, 'all of it is sent')
  t.same(third.stored, ['one two three'])
})

t.test('one workspace does not take all that the streams of an edge may', async (t) => {
  const shares = captureShares(160)
  const hogs = Array.from({ length: 20 }, () => startCapture(wholeStream(), shares, 'hog'))
  for (const { stream } of hogs) for (let part = 0; part < 3; part += 1) await stream.next()
  t.ok(shares.of('hog') > 130)
  const other = startCapture(wholeStream(), shares, 'other')
  await readAll(other.stream)
  t.same(other.stored, ['one two three'])
  for (const { stream } of hogs) await readAll(stream)
  t.same([shares.of('hog'), shares.of('other')], [0, 0])
})

t.test('large answers are not all stored in one turn', async (t) => {
  const turns: number[] = []
  let [turn, isOver] = [0, false]
  const loop = async (): Promise<void> => {
    for (; !isOver; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const store = async () => void turns.push(turn)
  const captureAll = async (bytes: number): Promise<number> => {
    turns.length = 0
    const answers = Array.from({ length: 3 }, async function* () {
      yield* [head, bytesOf('x'.repeat(bytes))]
    })
    const capture = { held: { store, storeNothing: store }, headersOf: () => ({}), workspaceId: 'acme' }
    await Promise.all(answers.map((answer) => readAll(captureResponse(answer, capture))))
    return new Set(turns).size
  }
  const looping = loop()
  t.equal(await captureAll(sharedLimits.turnBytes + 1), 3)
  t.equal(await captureAll(1), 1, 'small ones are')
  isOver = true
  await looping
})
