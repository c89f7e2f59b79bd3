import fc from 'fast-check'
import t from 'tap'
import { GatewayError } from '../../../../../src/errors.ts'
import { ResponsesVoice } from '../../../../../src/roles/edge/surfaces/responses/voice.ts'

const broken = new GatewayError('upstream_stream_interrupted', 'Broken off.')

const numberAfter = (pieces: readonly Uint8Array[]): number => {
  const voice = new ResponsesVoice()
  for (const piece of pieces) voice.hear(piece)
  const [, data = ''] = Buffer.from(voice.errorEvent(broken)).toString().split('data: ')
  return JSON.parse(data).sequence_number
}

const eventOf = (sequence: number, text: string): string =>
  `event: response.output_text.delta\ndata: ${JSON.stringify({ type: 'response.output_text.delta', delta: text, sequence_number: sequence })}\n\n`

t.test('an error is numbered as the next event', async (t) => {
  t.equal(numberAfter([]), 0)
  t.equal(numberAfter([Buffer.from(eventOf(0, 'a') + eventOf(1, 'b'))]), 2)
  t.equal(numberAfter([Buffer.from('data: {"type":"x","sequence_number": 41, "delta":"y"}\n\n')]), 42)
  t.equal(numberAfter([Buffer.from(eventOf(3, '"sequence_number":99,'))]), 4, 'a text that says so is none')
  t.equal(numberAfter([Buffer.from('data: {"metadata":{"sequence_number":"12"},"sequence_number":5}\n\n')]), 6)
})

t.test('wherever the bytes are cut', async () => {
  const bytes = Buffer.from([0, 1, 22, 333].map((sequence) => eventOf(sequence, 'Grüezi')).join(''))
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 40 }), (cuts) => {
      const at = [0, ...cuts.toSorted((one, other) => one - other), bytes.length]
      const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
      return numberAfter(pieces) === 334
    }),
  )
})
