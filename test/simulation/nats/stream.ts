import { matchesSubject } from './subjects.ts'

export interface StoredMessage {
  readonly sequence: number
  readonly subject: string
  readonly headers: string
  readonly data: Buffer
  readonly storedMs: number
}

export interface StreamSettings {
  readonly name: string
  readonly subjects: readonly string[]
  readonly retention: 'limits' | 'workqueue' | 'interest'
  readonly storage: 'file' | 'memory'
  readonly max_msgs_per_subject: number
  readonly discard_new_per_subject?: boolean
  /** Nanoseconds; 0 for ever. */
  readonly max_age: number
  readonly duplicate_window: number
}

export interface ApiError {
  readonly code: number
  readonly err_code: number
  readonly description: string
}

export type Stored = { readonly seq: number; readonly duplicate?: true } | { readonly error: ApiError }

const nanosecondsInMs = 1_000_000

export const readHeader = (headers: string, name: string): string | undefined => {
  const start = headers.indexOf(`${name}: `)
  if (start < 0) return undefined
  const from = start + name.length + 2
  return headers.slice(from, headers.indexOf('\r\n', from))
}

const wrongSequence = (last: number): Stored => ({
  error: { code: 400, err_code: 10071, description: `wrong last sequence: ${last}` },
})

/** Before nats-server 2.12 a repeated message was a duplicate first; since then its expected sequence is wrong first. */
export type DuplicateRule = 'duplicate_first' | 'sequence_first'

export class SimStream {
  readonly config: StreamSettings & Record<string, unknown>
  readonly created: string
  lastSequence = 0
  readonly #messages = new Map<number, StoredMessage>()
  readonly #bySubject = new Map<string, number[]>()
  readonly #ids = new Map<string, { readonly seq: number; readonly atMs: number }>()
  readonly #nowMs: () => number
  readonly #rule: DuplicateRule
  readonly #duplicateWindowMs: number

  constructor(config: SimStream['config'], nowMs: () => number, rule: DuplicateRule, duplicateWindowMs?: number) {
    this.#duplicateWindowMs = duplicateWindowMs ?? config.duplicate_window / nanosecondsInMs
    this.config = config
    this.#nowMs = nowMs
    this.#rule = rule
    this.created = new Date(nowMs()).toISOString()
  }

  get size(): number {
    return this.#messages.size
  }

  /** Of the first message; beyond the last where all are gone, 0 where there was none. */
  get firstSequence(): number {
    for (const { sequence } of this.all()) return sequence
    return this.lastSequence === 0 ? 0 : this.lastSequence + 1
  }

  takes(subject: string): boolean {
    return this.config.subjects.some((filter) => matchesSubject(filter, subject))
  }

  at(sequence: number): StoredMessage | undefined {
    const message = this.#messages.get(sequence)
    const { max_age } = this.config
    if (message === undefined || max_age === 0) return message
    return this.#nowMs() - message.storedMs > max_age / nanosecondsInMs ? undefined : message
  }

  *all(): Iterable<StoredMessage> {
    for (const sequence of this.#messages.keys()) {
      const message = this.at(sequence)
      if (message !== undefined) yield message
    }
  }

  lastOf(subject: string): StoredMessage | undefined {
    return this.at(this.#bySubject.get(subject)?.at(-1) ?? 0)
  }

  nextOf(subject: string, from: number): StoredMessage | undefined {
    const sequences = this.#bySubject.get(subject) ?? []
    return this.at(sequences.find((sequence) => sequence >= from) ?? 0)
  }

  subjects(filter: string): Record<string, number> {
    const found = [...this.#bySubject].filter(([subject]) => matchesSubject(filter, subject))
    return Object.fromEntries(found.map(([subject, sequences]) => [subject, sequences.length]))
  }

  store(subject: string, headers: string, data: Buffer): Stored {
    const expected = readHeader(headers, 'Nats-Expected-Stream')
    if (expected !== undefined && expected !== this.config.name)
      return { error: { code: 400, err_code: 10060, description: 'expected stream does not match' } }
    const checks = [() => this.#checkDuplicate(headers), () => this.#checkSequence(subject, headers)]
    if (this.#rule === 'sequence_first') checks.reverse()
    for (const check of checks) {
      const refused = check()
      if (refused !== null) return refused
    }
    return this.#makeRoom(subject) ?? this.#append(subject, headers, data)
  }

  remove(sequence: number): void {
    const message = this.#messages.get(sequence)
    if (message === undefined) return
    this.#messages.delete(sequence)
    const left = (this.#bySubject.get(message.subject) ?? []).filter((each) => each !== sequence)
    if (left.length === 0) this.#bySubject.delete(message.subject)
    else this.#bySubject.set(message.subject, left)
  }

  #checkDuplicate(headers: string): Stored | null {
    const id = readHeader(headers, 'Nats-Msg-Id')
    const known = id === undefined ? undefined : this.#ids.get(id)
    if (known === undefined) return null
    return this.#nowMs() - known.atMs > this.#duplicateWindowMs ? null : { seq: known.seq, duplicate: true }
  }

  #checkSequence(subject: string, headers: string): Stored | null {
    const expected = readHeader(headers, 'Nats-Expected-Last-Subject-Sequence')
    if (expected === undefined) return null
    const last = this.lastOf(subject)?.sequence ?? 0
    return last === Number(expected) ? null : wrongSequence(last)
  }

  #makeRoom(subject: string): Stored | null {
    const { max_msgs_per_subject: max, discard_new_per_subject: refuses } = this.config
    const present = this.lastOf(subject)
    if (max !== 1 || present === undefined) return null
    if (refuses) return { error: { code: 503, err_code: 10077, description: 'maximum messages per subject exceeded' } }
    this.remove(present.sequence)
    return null
  }

  #append(subject: string, headers: string, data: Buffer): Stored {
    this.lastSequence += 1
    const sequence = this.lastSequence
    this.#messages.set(sequence, { sequence, subject, headers, data, storedMs: this.#nowMs() })
    const sequences = this.#bySubject.get(subject)
    if (sequences === undefined) this.#bySubject.set(subject, [sequence])
    else sequences.push(sequence)
    const id = readHeader(headers, 'Nats-Msg-Id')
    if (id !== undefined) this.#ids.set(id, { seq: sequence, atMs: this.#nowMs() })
    return { seq: sequence }
  }
}
