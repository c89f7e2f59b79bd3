import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import {
  decodeCredit,
  decodeMessage,
  decodeOpening,
  encodeCredit,
  encodeOpening,
  encodePackets,
  type LinkMessage,
  type Packet,
  stamp,
} from '../../../../src/adapters/nats/calls/message.ts'

const uint32 = fc.nat(2 ** 32 - 1)
const number = fc.maxSafeNat().map((value) => value % 2 ** 48)
const packet = fc.record<Packet>({
  call: uint32,
  kind: fc.constantFrom('piece', 'credit', 'cancel', 'accepted', 'head', 'bytes', 'end', 'fault'),
  payload: fc.uint8Array({ maxLength: 200 }),
})
const header = fc.record({ from: uint32, to: uint32, number, received: number })

const plain = (message: LinkMessage | null): unknown =>
  message && {
    ...message,
    packets: message.packets.map(({ call, kind, payload }) => [call, kind, Buffer.from(payload).toString('hex')]),
  }

t.test('a message comes out as it went in', async (t) => {
  const comesBack = fc.property(header, fc.array(packet), (head, packets) => {
    const message = { ...head, type: 'packets' as const, packets }
    return isDeepStrictEqual(plain(decodeMessage(stamp(encodePackets(packets), message))), plain(message))
  })
  fc.assert(comesBack)
  const message = { type: 'packets', from: 1, to: 2, number: 2 ** 40, received: 7 } as const
  t.match(decodeMessage(stamp(encodePackets([]), message)), message)
})

t.test('a message that is cut short is none', async (t) => {
  const packets = [
    { call: 1, kind: 'bytes', payload: Buffer.from('abc') },
    { call: 2, kind: 'fault', payload: Buffer.from('defg') },
  ] as const
  const whole = stamp(encodePackets(packets), { type: 'packets', from: 1, to: 1, number: 1, received: 0 })
  const boundaries = [22, 22 + 12]
  for (let length = 0; length < whole.length; length += 1)
    t.equal(decodeMessage(whole.subarray(0, length)) !== null, boundaries.includes(length), `${length} bytes`)
})

t.test('garbage is none and breaks nothing', async (t) => {
  for (let round = 0; round < 5_000; round += 1) {
    const garbage = randomBytes(round % 90)
    if (garbage.length > 1) garbage.set([1, 1 + (round % 5)])
    decodeMessage(garbage)
    decodeOpening(garbage)
    decodeCredit(garbage)
  }
  t.equal(decodeMessage(randomBytes(60).fill(0, 0, 1)), null)
})

t.test('an opening comes out as it went in', async (t) => {
  const opening = { call: 2 ** 32 - 1, creditBytes: 131_072, totalBytes: 500, firstPiece: Buffer.from('{"a') }
  t.match(decodeOpening(encodeOpening(opening)), opening)
  t.equal(decodeOpening(encodeOpening({ ...opening, totalBytes: 2 })), null, 'a piece longer than the whole')
  t.equal(decodeOpening(encodeOpening({ ...opening, totalBytes: 2 ** 32 - 1 })), null, 'longer than a call may be')
  t.equal(decodeCredit(encodeCredit(65_536)), 65_536)
})
