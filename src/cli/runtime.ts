import { randomBytes, randomFillSync } from 'node:crypto'
import { hostname } from 'node:os'
import { type LoggerOptions, pino } from 'pino'
import { v7 } from 'uuid'
import type { Clock, NewId } from '../runtime/clock.ts'
import { logEvents } from '../runtime/log-events.ts'
import type { Logger } from '../runtime/logger.ts'
import { faultSerializer } from './faults.ts'
import { version } from './version.ts'

export interface Runtime {
  readonly clock: Clock
  readonly newId: NewId
  /** 48 characters, cryptographically random. */
  readonly randomText: () => string
  /** `task_` and 32 random letters and digits. */
  readonly newTaskId: () => string
  /** From 0 up to 1; not for secrets. */
  readonly random: () => number
  readonly logger: Logger
  /** What is removed from logged faults, from now on. */
  readonly setSecrets: (secrets: readonly string[]) => void
  readonly setLogLevel: (level: string) => void
}

const secretBytes = 36
const idBytes = 16
const pool = { bytes: Buffer.alloc(idBytes * 512), used: idBytes * 512 }

/** Random bytes for one id, from a pool: a system call for each costs more than all else that an id needs. */
const randomForId = (): Uint8Array => {
  if (pool.used === pool.bytes.length) {
    randomFillSync(pool.bytes)
    pool.used = 0
  }
  pool.used += idBytes
  return pool.bytes.subarray(pool.used - idBytes, pool.used)
}

const id = Buffer.alloc(idBytes)
const idText = Buffer.from('00000000-0000-0000-0000-000000000000')
const hexDigits = Buffer.from('0123456789abcdef')
const groupsAt: ReadonlySet<number> = new Set([4, 6, 8, 10])

/** In one piece: the library's own text of three dozen takes three times as long, and again where it is first compared. */
const newId = (): string => {
  v7({ random: randomForId() }, id)
  let at = 0
  for (let place = 0; place < idBytes; place += 1) {
    if (groupsAt.has(place)) at += 1 // Behind a hyphen.
    idText[at] = hexDigits[id[place]! >> 4]!
    idText[at + 1] = hexDigits[id[place]! & 0xf]!
    at += 2
  }
  return idText.toString('latin1')
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const taskIdLength = 32
/** Bytes from here on would favour the first letters. */
const fairBytes = 256 - (256 % letters.length)

const newTaskId = (): string => {
  let text = ''
  while (text.length < taskIdLength)
    for (const byte of randomForId())
      if (byte < fairBytes && text.length < taskIdLength) text += letters[byte % letters.length]!
  return `task_${text}`
}

interface LogSource {
  /** The role that this process runs, `gateway` for all roles, or `operator` for a command. */
  readonly role?: string
  /** Removed from logged faults. */
  readonly secrets?: readonly string[]
}

const createOutput = (level: string, role: string, serializers: NonNullable<LoggerOptions['serializers']>) =>
  pino(
    {
      level,
      base: { role, instance: `${hostname()}:${process.pid}`, version },
      formatters: { level: (name) => ({ level: name }) },
      serializers,
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ fd: 2, sync: false }),
  )

const loggerOn = (output: ReturnType<typeof createOutput>): Logger => ({
  log: (event, fields) => {
    const { level, text } = logEvents[event]
    if (output.isLevelEnabled(level)) output[level]<object>({ event, ...fields }, text)
  },
})

export const createRuntime = (
  logLevel: string,
  { role = 'operator', secrets: initial = [] }: LogSource = {},
): Runtime => {
  let serialize = faultSerializer(initial)
  const output = createOutput(logLevel, role, { fault: (fault) => serialize(fault) })
  return {
    clock: Date.now,
    newId,
    randomText: () => randomBytes(secretBytes).toString('base64url'),
    newTaskId,
    random: Math.random,
    logger: loggerOn(output),
    setSecrets: (secrets) => {
      serialize = faultSerializer(secrets)
    },
    setLogLevel: (level) => {
      output.level = level
    },
  }
}
