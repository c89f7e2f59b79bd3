import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { v7 } from 'uuid'
import type { Clock, Logger, NewId } from '../roles/role.ts'

/** Time, ids, randomness and the process's own log: made here, passed down. */
export interface Runtime {
  readonly clock: Clock
  readonly newId: NewId
  /** 48 characters that nobody can guess. */
  readonly randomText: () => string
  readonly logger: Logger
}

const secretBytes = 36

export const createRuntime = (logLevel: string): Runtime => ({
  clock: Date.now,
  newId: () => v7(),
  randomText: () => randomBytes(secretBytes).toString('base64url'),
  logger: pino(
    {
      level: logLevel,
      base: null,
      serializers: { fault: pino.stdSerializers.err },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ fd: 2, sync: false }),
  ),
})
