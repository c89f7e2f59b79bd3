import type { IncomingMessage } from 'node:http'
import { type JsonObject, parseJson } from '../../src/encoding/json.ts'
import { type Directives, noDirectives } from '../answers/directives.ts'
import { sandboxLimits } from '../answers/limits.ts'
import type { Tokens } from '../answers/tokens.ts'
import type { ReportedUsage } from './dialect.ts'

/** `open` while the answer is on its way; `cancelled`: the client went first; `broken`: a directive cut it off. */
export type Outcome = 'open' | 'completed' | 'broken' | 'cancelled'

export interface SandboxCall {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly method: string
  readonly path: string
  /** Names in lower case; the last one of a repeated header. Of a key only the scheme is kept. */
  readonly headers: { readonly [name: string]: string }
  readonly body: unknown
  readonly upstreamModel: string | null
  readonly directives: Directives
  readonly status: number | null
  readonly outcome: Outcome
  /** The last usage in the response, in wire format; null where none was written. */
  readonly usage: JsonObject | null
  readonly tokens: Tokens | null
  /** What the provider bills: also of a call that was cancelled. */
  readonly billed: Tokens | null
  /** SSE events written, `[DONE]` included; for a whole body 1. */
  readonly chunksWritten: number
}

export type SandboxTotals = { readonly [O in Exclude<Outcome, 'open'>]: number } & {
  readonly calls: number
  readonly open: number
  /** Calls that were answered with a status of 400 or above. */
  readonly failed: number
  /** Sums of the usage reported in calls that have ended. */
  readonly tokens: Tokens
}

type Counts = { -readonly [K in Exclude<keyof SandboxTotals, 'open' | 'tokens'>]: number }
type Sums = { -readonly [K in keyof Tokens]: number }

const noTokens: Tokens = {
  prompt: 0,
  cached: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  audioIn: 0,
  image: 0,
  output: 0,
  reasoning: 0,
  audioOut: 0,
}

const figures = Object.keys(noTokens) as readonly (keyof Tokens)[]

class Tally {
  readonly #counts: Counts = { calls: 0, completed: 0, broken: 0, cancelled: 0, failed: 0 }
  readonly #sums: Sums = { ...noTokens }

  opened(): void {
    this.#counts.calls += 1
  }

  ended(outcome: Exclude<Outcome, 'open'>, status: number | null, tokens: Tokens | null): void {
    this.#counts[outcome] += 1
    if (status !== null && status >= 400) this.#counts.failed += 1
    if (tokens === null) return
    for (const name of figures) this.#sums[name] += tokens[name]
  }

  totals(): SandboxTotals {
    const { calls, completed, broken, cancelled } = this.#counts
    return { ...this.#counts, open: calls - completed - broken - cancelled, tokens: { ...this.#sums } }
  }
}

const keyHeaders = ['authorization', 'x-api-key', 'x-goog-api-key']
const withoutKey = (value: string): string => value.replace(/\S+$/, '***')

const headersFrom = (text: string): { readonly [name: string]: string } => {
  const parts = text.split('\n')
  const names = parts.map((part) => part.toLowerCase())
  const pairs = names.flatMap((name, index) => {
    const value = parts[index + 1] ?? ''
    return index % 2 === 0 ? [[name, keyHeaders.includes(name) ? withoutKey(value) : value]] : []
  })
  return Object.fromEntries(pairs)
}

const pathFrom = (url: string): string => url.replace(/([?&]key=)[^&]*/, '$1***')

const bodyFrom = (text: string): unknown => (text === '' ? null : (parseJson(text) ?? text))

/** Headers and body stay text, which is small, until they are read. */
export class CallRecord {
  readonly #tally: Tally
  readonly #at: number
  readonly #method: string
  readonly #path: string
  readonly #headers: string
  readonly #body: string
  #upstreamModel: string | null = null
  #directives: Directives = noDirectives
  #status: number | null = null
  #outcome: Outcome = 'open'
  #reported: ReportedUsage | null = null
  #billed: Tokens | null = null
  #chunksWritten = 0

  constructor(tally: Tally, request: IncomingMessage, body: string, at: number) {
    this.#tally = tally
    this.#at = at
    this.#method = request.method ?? ''
    this.#path = request.url ?? ''
    this.#headers = request.rawHeaders.join('\n')
    this.#body = body
  }

  get size(): number {
    return this.#headers.length + this.#body.length
  }

  asks(upstreamModel: string, directives: Directives): void {
    this.#upstreamModel = upstreamModel
    this.#directives = directives
  }

  answered(status: number): void {
    this.#status = status
  }

  wrote(reported: ReportedUsage | null): void {
    this.#chunksWritten += 1
    this.#reported = reported ?? this.#reported
  }

  get chunksWritten(): number {
    return this.#chunksWritten
  }

  /** Of a call that was cancelled. */
  bill(billed: Tokens | null): void {
    this.#billed = billed
  }

  end(outcome: Exclude<Outcome, 'open'>): void {
    this.#outcome = outcome
    this.#tally.ended(outcome, this.#status, this.#reported?.tokens ?? null)
  }

  snapshot(): SandboxCall {
    return {
      at: this.#at,
      method: this.#method,
      path: pathFrom(this.#path),
      headers: headersFrom(this.#headers),
      body: bodyFrom(this.#body),
      upstreamModel: this.#upstreamModel,
      directives: this.#directives,
      status: this.#status,
      outcome: this.#outcome,
      usage: this.#reported?.usage ?? null,
      tokens: this.#reported?.tokens ?? null,
      billed: this.#outcome === 'cancelled' ? this.#billed : (this.#reported?.tokens ?? null),
      chunksWritten: this.#chunksWritten,
    }
  }
}

/** The last calls, bounded in number and in bytes, and the totals of all calls. */
export class CallLog {
  #tally = new Tally()
  #records: CallRecord[] = []
  #oldest = 0
  #bytes = 0
  #callsByModel = new Map<string, number>()

  open(request: IncomingMessage, body: string, at: number): CallRecord {
    const record = new CallRecord(this.#tally, request, body, at)
    this.#tally.opened()
    this.#records.push(record)
    this.#bytes += record.size
    while (this.#isOverfull()) this.#dropOldest()
    return record
  }

  countOf(upstreamModel: string): number {
    const count = (this.#callsByModel.get(upstreamModel) ?? 0) + 1
    this.#callsByModel.delete(upstreamModel)
    this.#callsByModel.set(upstreamModel, count)
    const [leastRecent] = this.#callsByModel.keys()
    if (this.#callsByModel.size > sandboxLimits.sandboxModelsCountedMax && leastRecent !== undefined)
      this.#callsByModel.delete(leastRecent)
    return count
  }

  last(count: number): readonly SandboxCall[] {
    const from = Math.max(this.#oldest, this.#records.length - count)
    return this.#records.slice(from).map((record) => record.snapshot())
  }

  totals(): SandboxTotals {
    return this.#tally.totals()
  }

  /** Calls still open continue, and count nowhere. */
  reset(): void {
    this.#tally = new Tally()
    this.#records = []
    this.#oldest = 0
    this.#bytes = 0
    this.#callsByModel = new Map()
  }

  #isOverfull(): boolean {
    const kept = this.#records.length - this.#oldest
    return kept > sandboxLimits.sandboxCallsMax || (kept > 1 && this.#bytes > sandboxLimits.sandboxCallsBytesMax)
  }

  #dropOldest(): void {
    this.#bytes -= this.#records[this.#oldest]?.size ?? 0
    this.#oldest += 1
    if (this.#oldest <= sandboxLimits.sandboxCallsMax) return
    this.#records = this.#records.slice(this.#oldest)
    this.#oldest = 0
  }
}
