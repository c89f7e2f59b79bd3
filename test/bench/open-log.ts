import { v7 } from 'uuid'
import { connectNats } from '../../src/adapters/nats/connect.ts'
import { type OpenLog, openLog } from '../../src/adapters/nats/log.ts'
import type { Addresses } from '../../src/embedded/embedded.ts'
import { silentLogger } from '../support/log-lines.ts'

const closeWithinMs = 2_000

export interface OpenedLog {
  readonly log: OpenLog
  close(): Promise<void>
}

export const throwFatal = (fault: Error): void => {
  throw fault
}

/** A log by name on the gateway's own server, for the bench to write to or to ask. */
export const openBenchLog = async (addresses: Addresses, name: string, role = 'bench'): Promise<OpenedLog> => {
  const connection = await connectNats({ url: addresses.natsUrl, name: 'bench' })
  const log = await openLog({
    connection,
    name,
    role,
    durability: 'synced',
    replicas: 1,
    monitoringUrl: addresses.natsMonitoringUrl,
    clock: Date.now,
    newId: v7,
    logger: silentLogger,
    onFatal: throwFatal,
  })
  const close = async (): Promise<void> => {
    await log.close(closeWithinMs)
    await connection.close()
  }
  return { log, close }
}
