import type { PrometheusFigures } from '../adapters/prometheus/metrics.ts'
import type { Checks } from '../runtime/health.ts'
import type { Offer } from './gateway.ts'

export interface ProcessStarted {
  readonly type: 'started'
  /** Null for a process that answers no HTTP. */
  readonly url: string | null
  /** What its frames in the log are named by. */
  readonly writer: string
  readonly offer: Offer | null
}

export interface ProcessObserved {
  readonly type: 'observed'
  readonly id: number
  readonly figures: PrometheusFigures
  readonly alive: Checks
  readonly ready: Checks
}

interface ReloadPrepared {
  readonly type: 'reload_prepared'
  readonly id: number
  /** Null where it can change to that configuration. */
  readonly fault: string | null
}

/** From a process to its supervisor, and back. Both are of one release. */
export type ProcessMessage = ProcessStarted | ProcessObserved | ReloadPrepared

export type FileTexts = readonly (readonly [file: string, text: string])[]

/** The first one: the files of the configuration in force, and their texts. */
export interface Configured {
  readonly type: 'configured'
  readonly files: FileTexts
}

export type SupervisorMessage =
  | Configured
  | { readonly type: 'stop' }
  | { readonly type: 'observe'; readonly id: number }
  | { readonly type: 'writer_ended'; readonly writer: string }
  | { readonly type: 'reload_prepare'; readonly id: number; readonly files: FileTexts }
  | { readonly type: 'reload_commit' }
  | { readonly type: 'reload_rejected'; readonly fault: string }
