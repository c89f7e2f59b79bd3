import { setTimeout as sleep } from 'node:timers/promises'
import { createInbox, type Msg, type NatsConnection, headers as newHeaders } from '@nats-io/transport-node'

export interface RawServer {
  connect(): Promise<NatsConnection>
  kill(): Promise<void>
  start(): Promise<void>
}

type Body = Readonly<Record<string, unknown>>

const nanosecondsInMs = 1_000_000
const api = '$JS.API'

const streamOf = (name: string, more: Body = {}): Body => ({
  name,
  subjects: [`${name.toLowerCase()}.>`],
  retention: 'limits',
  storage: 'file',
  discard: 'old',
  num_replicas: 1,
  max_consumers: -1,
  max_msgs: -1,
  max_bytes: -1,
  max_msg_size: -1,
  max_msgs_per_subject: -1,
  max_age: 0,
  duplicate_window: 2_000 * nanosecondsInMs,
  ...more,
})

/** What a server answers, without times and without what a stream and a consumer are described by. */
export const askOf =
  (connection: NatsConnection) =>
  async (subject: string, body: object | string, headers: Readonly<Record<string, string>> = {}): Promise<object> => {
    const all = newHeaders()
    for (const [name, value] of Object.entries(headers)) all.set(name, value)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await connection.request(subject, text, { headers: all, timeout: 2_000 })
    const { error, stream, seq, duplicate, message, success, purged, state, name, num_pending, num_ack_pending } =
      answer.json<Record<string, unknown>>()
    const { time: _, ...found } = { ...(message as object | undefined), time: null }
    const { messages, first_seq, last_seq, subjects } = (state ?? {}) as Body
    return {
      ...{ error, stream, seq, duplicate, success, found, purged, num_pending, num_ack_pending },
      ...{ messages, first_seq, last_seq, subjects, consumer: state === undefined ? name : undefined },
    }
  }

const textOf = ({ data }: Msg): string => Buffer.from(data).toString()

/** The subject of an acknowledgement without its time. */
const ackOf = (reply: string | undefined): string | undefined =>
  reply
    ?.split('.')
    .filter((_, at) => at !== 7)
    .join('.')

const describe = (message: Msg): Body => {
  const { headers, subject, reply } = message
  if (headers !== undefined && headers.code !== 0)
    return { code: headers.code, text: headers.description, left: headers.get('Nats-Pending-Messages') }
  return { subject, text: textOf(message), ack: ackOf(reply), size: headers?.get('Nats-Msg-Size') ?? '' }
}

interface Pull {
  readonly got: readonly Body[]
  readonly messages: readonly Msg[]
  /** Until so many have come. */
  wait(count: number): Promise<void>
}

const openPuller = (connection: NatsConnection, stream: string) => (consumer: string, body: Body) => {
  const inbox = createInbox()
  const got: Body[] = []
  const messages: Msg[] = []
  connection.subscribe(inbox, {
    callback: (_, message) => {
      const described = describe(message)
      const isRepeatedBeat = described['code'] === 100 && got.some(({ code }) => code === 100)
      if (isRepeatedBeat) return
      got.push(described)
      messages.push(message)
    },
  })
  connection.publish(`${api}.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(body), { reply: inbox })
  const wait = async (count: number): Promise<void> => {
    while (got.length < count) await sleep(5)
    await sleep(60) // Nothing else comes.
  }
  return { got, messages, wait } satisfies Pull
}

const consumerOf = (stream: string, more: Body): Body => ({
  stream_name: stream,
  config: { deliver_policy: 'all', ack_policy: 'none', replay_policy: 'instant', inactive_threshold: 6e10, ...more },
})

/** What single requests of pull consumers are answered with. */
const pullConsumers = async (server: RawServer): Promise<unknown> => {
  const connection = await server.connect()
  const ask = askOf(connection)
  await ask(`${api}.STREAM.CREATE.PULLED`, streamOf('PULLED'))
  for (const name of ['one', 'two', 'one', 'one']) await ask(`pulled.${name}`, `${name} ${'x'.repeat(400)}`)
  const create = (name: string, more: Body) =>
    ask(`${api}.CONSUMER.CREATE.PULLED.${name}`, consumerOf('PULLED', { name, ...more }))
  const pull = openPuller(connection, 'PULLED')
  const pulls: Pull[] = []
  const pullUntil = async (count: number, consumer: string, body: Body): Promise<void> => {
    const next = pull(consumer, body)
    pulls.push(next)
    await next.wait(count)
  }
  const created = [await create('all', {}), await create('ones', { filter_subject: 'pulled.one' })]
  await pullUntil(2, 'all', { batch: 2 })
  await pullUntil(3, 'all', { batch: 5, expires: 300 * nanosecondsInMs })
  await pullUntil(2, 'all', { batch: 1, expires: 400 * nanosecondsInMs, idle_heartbeat: 100 * nanosecondsInMs })
  await pullUntil(2, 'ones', { batch: 2, max_bytes: 2_000 })
  await create('small', {})
  await pullUntil(2, 'small', { batch: 4, max_bytes: 700 })
  await create('from', { deliver_policy: 'by_start_sequence', opt_start_seq: 4 })
  await pullUntil(1, 'from', { batch: 1 })
  await create('ended', { deliver_policy: 'by_start_sequence', opt_start_seq: 5 })
  const [first, second] = [pull('ended', { batch: 1 }), pull('ended', { batch: 2 })]
  await ask('pulled.late', 'late')
  await Promise.all([first.wait(1), second.wait(0)])
  await ask(`${api}.CONSUMER.DELETE.PULLED.ended`, '')
  await second.wait(1)
  await pullUntil(1, 'absent', { batch: 1 })
  return { created, got: [...pulls, first, second].map(({ got }) => got) }
}

/** Leases of a consumer that is acknowledged. */
const leases = async (server: RawServer): Promise<unknown> => {
  const connection = await server.connect()
  const ask = askOf(connection)
  await ask(`${api}.STREAM.CREATE.LEASED`, streamOf('LEASED', { retention: 'workqueue' }))
  for (const name of ['a', 'b', 'c']) await ask(`leased.${name}`, `contents of ${name}`)
  const config = { ack_policy: 'explicit', ack_wait: 400 * nanosecondsInMs, max_ack_pending: 2, max_deliver: -1 }
  const named = consumerOf('LEASED', { ...config, durable_name: 'd', headers_only: true })
  await ask(`${api}.CONSUMER.DURABLE.CREATE.LEASED.d`, named)
  const pull = openPuller(connection, 'LEASED')
  const one = pull('d', { batch: 10, expires: 20_000 * nanosecondsInMs })
  await one.wait(2)
  connection.publish(one.messages[0]!.reply!, '+ACK')
  await one.wait(3)
  connection.publish(one.messages[1]!.reply!, '+WPI')
  connection.publish(one.messages[2]!.reply!, `-NAK {"delay": ${100 * nanosecondsInMs}}`)
  await one.wait(5) // The third by its delay, the second when its lease has ended.
  const info = await ask(`${api}.CONSUMER.INFO.LEASED.d`, '')
  const acknowledged = await connection.request(one.messages[3]!.reply!, '+ACK', { timeout: 2_000 })
  const left = await ask(`${api}.STREAM.INFO.LEASED`, '')
  return { got: one.got, info, acknowledged: textOf(acknowledged), left }
}

/** Streams that forget, refuse or remove. */
const streams = async (server: RawServer): Promise<unknown> => {
  const ask = askOf(await server.connect())
  const once = { 'Nats-Msg-Id': 'once' }
  const expected = (sequence: number) => ({ 'Nats-Expected-Last-Subject-Sequence': String(sequence) })
  const kept = streamOf('KEPT', { max_msgs_per_subject: 1, duplicate_window: 300 * nanosecondsInMs })
  const answers = [
    await ask(`${api}.STREAM.CREATE.KEPT`, kept),
    await ask(`${api}.STREAM.CREATE.KEPT`, kept),
    await ask(`${api}.STREAM.CREATE.KEPT`, { ...kept, max_msgs_per_subject: 2 }),
    await ask('kept.a', 'first', once),
    await ask('kept.a', 'again', once),
    await ask('kept.a', 'second'),
    await ask('kept.b', 'other'),
    await ask(`${api}.STREAM.INFO.KEPT`, { subjects_filter: 'kept.*' }),
    await ask(`${api}.STREAM.MSG.GET.KEPT`, { seq: 1 }),
    await ask(`${api}.STREAM.MSG.DELETE.KEPT`, { seq: 2, no_erase: true }),
    await ask(`${api}.STREAM.MSG.GET.KEPT`, { last_by_subj: 'kept.a' }),
    await ask(`${api}.STREAM.MSG.DELETE.KEPT`, { seq: 2 }),
    await ask(`${api}.STREAM.MSG.DELETE.KEPT`, { seq: 99 }),
    await ask('kept.a', 'anew', expected(2)),
    await ask('kept.a', 'anew', expected(0)),
    await ask(`${api}.STREAM.PURGE.KEPT`, { filter: 'kept.b' }),
    await ask(`${api}.STREAM.PURGE.KEPT`, { filter: 'kept.none' }),
    await ask(`${api}.STREAM.INFO.KEPT`, { subjects_filter: 'kept.*' }),
  ]
  await sleep(500)
  answers.push(await ask('kept.c', 'after the window', once))
  const full = streamOf('FULL', { max_msgs_per_subject: 1, discard: 'new', discard_new_per_subject: true })
  await ask(`${api}.STREAM.CREATE.FULL`, full)
  await ask('full.a', 'first')
  answers.push(await ask('full.a', 'second'))
  const age = 300 * nanosecondsInMs
  const aged = streamOf('AGED', { storage: 'memory', max_age: age, duplicate_window: age })
  await ask(`${api}.STREAM.CREATE.AGED`, aged)
  answers.push(await ask('aged.a', 'soon gone'), await ask(`${api}.STREAM.MSG.GET.AGED`, { seq: 1 }))
  await sleep(700)
  answers.push(await ask(`${api}.STREAM.MSG.GET.AGED`, { seq: 1 }))
  return answers
}

/** What is in memory is gone, durable consumers are not. */
const killed = async (server: RawServer): Promise<unknown> => {
  const before = askOf(await server.connect())
  await before(`${api}.STREAM.CREATE.DISK`, streamOf('DISK'))
  await before(`${api}.STREAM.CREATE.MEMORY`, streamOf('MEMORY', { storage: 'memory' }))
  for (const subject of ['disk.a', 'disk.b', 'memory.a']) await before(subject, 'text')
  await before(`${api}.CONSUMER.CREATE.DISK.passing`, consumerOf('DISK', { name: 'passing', mem_storage: true }))
  const durable = consumerOf('DISK', { durable_name: 'lasting', ack_policy: 'explicit' })
  await before(`${api}.CONSUMER.DURABLE.CREATE.DISK.lasting`, durable)
  await server.kill()
  await server.start()
  const ask = askOf(await server.connect())
  return [
    await ask(`${api}.STREAM.INFO.DISK`, ''),
    await ask(`${api}.STREAM.INFO.MEMORY`, ''),
    await ask(`${api}.CONSUMER.INFO.DISK.passing`, ''),
    await ask(`${api}.CONSUMER.INFO.DISK.lasting`, ''),
    await ask('disk.a', 'more', { 'Nats-Expected-Last-Subject-Sequence': '1' }),
  ]
}

/** Messages outside streams. */
const subjects = async (server: RawServer): Promise<unknown> => {
  const [one, other] = [await server.connect(), await server.connect()]
  const got: string[] = []
  const note =
    (who: string) =>
    (_: unknown, message: Msg): void =>
      void got.push(`${who} ${message.subject} ${textOf(message)}`)
  let members = 0
  const member = (): void => {
    members += 1
  }
  one.subscribe('core.any.*', { callback: note('*') })
  one.subscribe('core.any.>', { callback: note('>') })
  one.subscribe('core.any.twice', { callback: note('twice'), max: 2 })
  for (const each of [one, other]) each.subscribe('core.group', { queue: 'g', callback: member })
  one.subscribe('core.echo', { callback: (_, message) => void message.respond(message.data) })
  await one.flush()
  await other.flush()
  for (const text of ['1', '2', '3']) other.publish('core.any.twice', text)
  other.publish('core.any.deep.er', '4')
  for (let count = 0; count < 10; count += 1) other.publish('core.group', '')
  await other.flush()
  await one.flush()
  const echoed = textOf(await other.request('core.echo', 'hello', { timeout: 2_000 }))
  const refused = await other.request('core.nobody', '', { timeout: 2_000 }).catch((fault: Error) => fault.name)
  await one.flush()
  return { got: got.toSorted(), members, echoed, refused }
}

export const rawScenarios: Readonly<Record<string, (server: RawServer) => Promise<unknown>>> = {
  'pull consumers': pullConsumers,
  'leases of a consumer': leases,
  'streams that forget, refuse and remove': streams,
  'what a killed server has lost': killed,
  'subjects, groups and requests': subjects,
}
