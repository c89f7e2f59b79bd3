import type { NatsConnection } from '@nats-io/transport-node'
import { v7 } from 'uuid'
import { type CallClient, type CallOptions, openCallClient } from '../../../../src/adapters/nats/calls/call-client.ts'
import { type CallServer, openCallServer } from '../../../../src/adapters/nats/calls/call-server.ts'
import { connectNats } from '../../../../src/adapters/nats/connect.ts'
import type { Dispatch } from '../../../../src/roles/dispatch.ts'
import type { ServedCalls } from '../../../../src/roles/proxy/role.ts'
import { type RecordingLogger, recordingLogger } from '../../../support/log-lines.ts'

interface Opened {
  readonly connection: NatsConnection
  readonly id: string
  readonly logger: RecordingLogger
  close(): Promise<void>
}

export interface OpenedEdge extends Opened {
  readonly client: CallClient
  readonly dispatch: Dispatch
}

export interface OpenedProxy extends Opened {
  readonly server: CallServer
  readonly serving: ServedCalls
}

const start = async (url: string, overrides: Partial<CallOptions>) => {
  const connection = await connectNats({ url, name: 'test' })
  const id = v7()
  const logger = recordingLogger()
  const options = { connection, name: 'GATEWAY', clock: Date.now, newId: () => id, logger, ...overrides }
  return { connection, id, logger, options }
}

/** An edge process's end of the calls, on a connection of its own. */
export const openEdge = async (url: string, overrides: Partial<CallOptions> = {}): Promise<OpenedEdge> => {
  const { connection, options, ...rest } = await start(url, overrides)
  const client = openCallClient(options)
  const close = async (): Promise<void> => {
    await client.close()
    await connection.close()
  }
  return { connection, ...rest, client, dispatch: client.dispatch, close }
}

/** A proxy process's end, which the server knows to serve when this resolves. */
export const openProxy = async (
  url: string,
  serve: Dispatch,
  overrides: Partial<CallOptions> = {},
): Promise<OpenedProxy> => {
  const { connection, options, ...rest } = await start(url, overrides)
  const server = openCallServer(options)
  const serving = server.serve(serve)
  await connection.flush()
  const close = async (): Promise<void> => {
    await server.close()
    await connection.close()
  }
  return { connection, ...rest, server, serving, close }
}
