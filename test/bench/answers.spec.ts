import t from 'tap'
import { streamOf, wholeAnswerOf } from './chat-answers.ts'
import { textOf } from './content.ts'
import { benchModel } from './price.ts'
import { bodyOf } from './requests.ts'
import { ordinaryShape, shapeAskedBy } from './shape.ts'

const chat = { format: 'chat', model: benchModel } as const

t.test('the upstream finds the shape that a request asks for', async (test) => {
  const shape = { characters: 20_000_000, chunks: 60_000, everyMs: 20 }
  for (const stream of [false, true]) {
    test.strictSame(shapeAskedBy(Buffer.from(bodyOf({ ...chat, stream, shape }))), shape)
    test.equal(shapeAskedBy(Buffer.from(bodyOf({ ...chat, stream }))), ordinaryShape)
  }
})

t.test('an answer is as long as was asked for', async (test) => {
  test.equal(textOf(1_000).length, 1_000)
  test.equal(wholeAnswerOf(1_000).length - wholeAnswerOf(1).length, 999)
  test.equal(streamOf(100).length - streamOf(1).length, 99)
})
