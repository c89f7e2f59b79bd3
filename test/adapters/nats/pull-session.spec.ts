import { AckPolicy, jetstreamManager } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { PullSession } from '../../../src/adapters/nats/pull-session.ts'
import { blockEventLoop, until } from '../../support/clients.ts'
import { NatsServer } from './server.ts'

const pace = { expiresMs: 30_000, heartbeatMs: 50, stallMs: 200 } as const

const server = await NatsServer.create()
const connection = await connectNats({ url: server.url, name: 'test' })
t.teardown(async () => {
  await connection.close()
  await server.remove()
})
const jsm = await jetstreamManager(connection)
await jsm.streams.add({ name: 'WORK', subjects: ['work.>'] })

const startSession = async (t: Test, consumer: string, heartbeatMs: number = pace.heartbeatMs) => {
  await jsm.consumers.add('WORK', {
    durable_name: consumer,
    ack_policy: AckPolicy.None,
    filter_subject: `work.${consumer}`,
  })
  const ends: string[] = []
  const messages: string[] = []
  const session = new PullSession({
    connection,
    stream: 'WORK',
    consumer,
    inboxPrefix: '_INBOX',
    pace: { ...pace, heartbeatMs },
    room: () => 10,
    onMessage: (message) => {
      messages.push(message.string())
      if (message.string() === 'stall') blockEventLoop(2 * pace.stallMs)
    },
    onEnd: (reason) => void ends.push(reason),
  })
  session.start()
  t.teardown(() => session.close())
  return { ends, messages }
}

t.test('a stall of our own is no silence of the server', async (t) => {
  const { ends, messages } = await startSession(t, 'busy')
  for (const word of ['stall', 'last']) {
    connection.publish('work.busy', word)
    await until(() => messages.includes(word) || ends.length > 0)
  }
  t.same({ ends, messages }, { ends: [], messages: ['stall', 'last'] })
})

t.test('a server that sends nothing is silent', async (t) => {
  const { ends } = await startSession(t, 'silent', 10_000)
  await until(() => ends.length > 0)
  t.same(ends, [`silent for ${pace.stallMs} ms`])
})
