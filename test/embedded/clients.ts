/** What a test writes into and reads from the embedded servers, with raw clients. */
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import pg from 'pg'
import type { Addresses } from '../../src/embedded/embedded.ts'

const withDatabase = async <T>({ databaseUrl }: Addresses, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const connectNats = ({ natsUrl }: Addresses) => {
  const { host, username, password } = new URL(natsUrl)
  return connect({ servers: host, user: username, pass: password, reconnect: false })
}

export const writeRow = (addresses: Addresses, round: number): Promise<void> =>
  withDatabase(addresses, async (client) => {
    await client.query('set synchronous_commit = on')
    await client.query('create table if not exists rounds (round int primary key)')
    await client.query('insert into rounds values ($1)', [round])
  })

export const readRows = (addresses: Addresses): Promise<number[]> =>
  withDatabase(addresses, async (client) => {
    const { rows } = await client.query<{ round: number }>('select round from rounds order by round')
    return rows.map(({ round }) => round)
  })

export const showSetting = (addresses: Addresses, name: string): Promise<string> =>
  withDatabase(addresses, async (client) => {
    const { rows } = await client.query<{ current_setting: string }>('select current_setting($1)', [name])
    return rows[0]!.current_setting
  })

export const publish = async (addresses: Addresses, text: string): Promise<void> => {
  const connection = await connectNats(addresses)
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'ROUNDS', subjects: ['rounds'], storage: 'file' })
  await jetstream(connection).publish('rounds', text)
  await connection.close()
}

export const readMessages = async (addresses: Addresses): Promise<string[]> => {
  const connection = await connectNats(addresses)
  const manager = await jetstreamManager(connection)
  const { state } = await manager.streams.info('ROUNDS')
  const sequences = Array.from({ length: state.last_seq }, (_, index) => index + 1)
  const messages = await Promise.all(sequences.map((seq) => manager.streams.getMessage('ROUNDS', { seq })))
  await connection.close()
  return messages.map((message) => message?.string() ?? 'missing')
}
