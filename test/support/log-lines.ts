import { type LogEvent, type LogLevel, logEvents } from '../../src/runtime/log-events.ts'
import type { Logger } from '../../src/runtime/logger.ts'

export interface LogLine {
  readonly level: LogLevel
  readonly event: LogEvent
  readonly fields: object
}

export type RecordingLogger = Logger & { readonly lines: readonly LogLine[] }

export const recordingLogger = (lines: LogLine[] = []): RecordingLogger => ({
  lines,
  log: (event, fields) => void lines.push({ level: logEvents[event].level, event, fields }),
})

export const silentLogger: Logger = { log: () => {} }
