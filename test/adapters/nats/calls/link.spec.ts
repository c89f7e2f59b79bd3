import t from 'tap'
import { CallLink } from '../../../../src/adapters/nats/calls/link.ts'
import { decodeMessage, type Packet } from '../../../../src/adapters/nats/calls/message.ts'
import { natsLimits } from '../../../../src/adapters/nats/limits.ts'

type End = 'edge' | 'proxy'

/** Both ends of a link, in one thread: a message arrives at once, unless it is lost. */
const openPair = () => {
  let nowMs = 0
  const received: string[] = []
  const isLost: { [from in End]: boolean } = { edge: false, proxy: false }
  const peerOf = { edge: 'proxy', proxy: 'edge' } as const
  const open = (end: End): CallLink =>
    new CallLink({
      ...{ peer: peerOf[end], incarnation: 1, nowMs: () => nowMs },
      publish: (bytes) => {
        const message = decodeMessage(bytes)!
        if (!isLost[end]) links[peerOf[end]].receive(message, bytes.length)
      },
      flushSoon: (link) => link.flush(),
      onUnknownCall: (_, { payload }) => received.push(Buffer.from(payload).toString()),
    })
  const links = { edge: open('edge'), proxy: open('proxy') }
  const send = (text: string, lost = false): void => {
    isLost.proxy = lost
    const packet: Packet = { call: 1, kind: 'bytes', payload: Buffer.from(text) }
    links.proxy.write(packet)
    isLost.proxy = false
  }
  const tick = (end: End, ms: number): void => {
    for (const untilMs = nowMs + ms; nowMs < untilMs; ) {
      nowMs += natsLimits.callsTickMs
      links[end].tick()
    }
  }
  return { received, isLost, links, send, tick }
}

t.test('what is lost is requested at the next message, and comes in order', async (t) => {
  const { received, send } = openPair()
  send('a')
  send('b', true)
  send('c')
  t.strictSame(received, ['a', 'b', 'c'])
})

t.test('a request that is lost is sent again, whether or not its peer sends anything more', async (t) => {
  const { received, isLost, send, tick } = openPair()
  send('a', true)
  isLost.edge = true
  send('b')
  isLost.edge = false
  tick('edge', natsLimits.callsRequestMs)
  t.strictSame(received, ['a', 'b'])
})

t.test('what is lost when it is sent again is requested again', async (t) => {
  const { received, isLost, links, send, tick } = openPair()
  send('a', true)
  isLost.edge = true
  send('b')
  isLost.edge = false
  isLost.proxy = true
  links.edge.ping()
  tick('edge', natsLimits.callsRequestMs)
  t.strictSame(received, [])
  isLost.proxy = false
  tick('edge', natsLimits.callsRequestMs)
  t.strictSame(received, ['a', 'b'])
})

t.test('what comes in order is not requested, and what was requested is not requested again meanwhile', async (t) => {
  const { received, isLost, links, send } = openPair()
  send('a', true)
  send('b', true)
  isLost.edge = true
  send('c')
  isLost.edge = false
  send('d')
  t.strictSame(received, [], 'the request is under way')
  links.proxy.ping()
  t.strictSame(received, ['a', 'b', 'c', 'd'], 'a ping has an answer at once')
})
