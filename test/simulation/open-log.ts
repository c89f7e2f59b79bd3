import { connectNats } from '../../src/adapters/nats/connect.ts'
import { type OpenLog, openLog } from '../../src/adapters/nats/log.ts'
import { openSnapshots } from '../../src/adapters/nats/snapshots/open.ts'
import { restoreLedger, type SnapshotStore } from '../../src/audit/snapshots.ts'
import { permittedEventTypes } from '../../src/cli/platform.ts'
import { initialLedger, type Ledger } from '../../src/domain/ledger/ledger.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import { type ProcessRole, writerRoleOf } from '../../src/roles/role.ts'
import { natsPort } from './nats/server.ts'
import type { Start } from './start.ts'

export const logName = 'GATEWAY'

export const connectSim = async ({ push }: Pick<Start, 'push'>, role: ProcessRole, purpose: string) => {
  const connection = await connectNats({ url: `nats://127.0.0.1:${natsPort}`, role, name: purpose })
  push({ stop: () => connection.close() })
  return connection
}

export const logOptions = { name: logName, replicas: 1, durability: 'relaxed' } as const

export const openSimLog = async (start: Start, role: ProcessRole, create = false): Promise<OpenLog> => {
  const { runtime, onFatal, push } = start
  const connection = await connectSim(start, role, role)
  const readOnly = role === 'projector'
  const options = {
    ...logOptions,
    ...runtime,
    connection,
    role: writerRoleOf(role),
    readOnly,
    create,
    onFatal,
    permittedTypes: permittedEventTypes,
  }
  const log = await openLog(options)
  push({ stop: () => log.close(2_000) })
  return log
}

export const openSimSnapshots = async (start: Start, role: ProcessRole, create = false): Promise<SnapshotStore> => {
  const connection = await connectSim(start, role, 'snapshots')
  return openSnapshots({ ...logOptions, connection, role, create, logger: start.runtime.logger })
}

/** From the newest snapshot that a checkpoint confirms, or empty, as a platform opens it. */
export const createLedgerOpener =
  ({ runtime: { logger }, verifiers }: Start, log: OpenLog, store: SnapshotStore) =>
  async (sequenceMax = Number.POSITIVE_INFINITY): Promise<Ledger> => {
    try {
      const onRefused = ({ sequence }: { readonly sequence: number }, fault: unknown): void =>
        logger.log('ledger.snapshot_refused', { sequence, fault })
      const ledger = await restoreLedger({ store, log, verifiers, sequenceMax, onRefused })
      if (ledger === null) return initialLedger()
      logger.log('ledger.restored', { sequence: ledger.sequence })
      return ledger
    } catch (fault) {
      logger.log('ledger.snapshot_unavailable', { fault })
      return initialLedger()
    }
  }

export const openSimLedger = async (start: Start, log: OpenLog, role: ProcessRole) =>
  createLedgerOpener(start, log, await openSimSnapshots(start, role))

/** Caught up with the log, from the newest snapshot on. */
export const openSimTail = async (start: Start, log: OpenLog, role: ProcessRole): Promise<LedgerTail> => {
  const { push, onFatal } = start
  const openLedger = await openSimLedger(start, log, role)
  const tail = push(new LedgerTail(await openLedger(), log))
  tail.done.catch(onFatal)
  await Promise.race([tail.waitForSequence(await log.lastSequence()), tail.done])
  return tail
}
