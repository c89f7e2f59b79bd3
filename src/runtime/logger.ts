import type { LogEvent, LogFields } from './log-events.ts'

export interface Logger {
  /** Writes a line at the level and with the text that `logEvents` lists for the event. */
  log<Event extends LogEvent>(event: Event, fields: LogFields<Event>): void
}
