import type { ServerResponse } from 'node:http'
import type { Applied } from '../domain/ledger/ledger.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { Event } from '../events/envelope.ts'
import { disconnectAfter } from '../http/slow-clients.ts'
import type { LedgerTail } from '../log/ledger-tail.ts'
import { FairShares } from '../runtime/fair-shares.ts'
import { isHiddenFromKeys } from './customer-events.ts'
import { readLimits } from './limits.ts'

type Detail = Readonly<Record<string, string | number | boolean>>

/** Only the scalar members of an event. */
interface LoggedEvent {
  readonly sequence: number
  readonly index: number
  readonly type: Event['type']
  readonly time: string
  /** Null for an event that belongs to no single workspace. */
  readonly workspace: string | null
  readonly subject: string
  /** Null for an event without an actor; sent only to administrators. */
  readonly actor: string | null
  readonly detail: Detail
}

/** Hashes and signed texts are of no use to a reader; who adjusts is the event's actor too. */
const leftOut: ReadonlySet<string> = new Set(['workspaceId', 'sha256', 'leaves', 'root', 'note', 'by'])

const shortened = (value: string | number | boolean): string | number | boolean =>
  typeof value === 'string' ? value.slice(0, readLimits.tailTextCharactersMax).toWellFormed() : value

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

const plainMembers = (data: object): Detail =>
  Object.fromEntries(
    Object.entries(data).flatMap(([name, value]) =>
      isPlain(value) && !leftOut.has(name) ? [[name, shortened(value)] as const] : [],
    ),
  )

const loggedEventOf = ({ event, sequence, index }: Pick<Applied, 'event' | 'sequence' | 'index'>): LoggedEvent => {
  const { type, time, subject, actor = null, data } = event
  const task = event.type === 'HoldPlaced' ? event.data.task : undefined
  return {
    sequence,
    index,
    type,
    time,
    workspace: 'workspaceId' in data ? data.workspaceId : null,
    subject,
    actor,
    detail: { ...plainMembers(data), ...(task === undefined ? {} : { model: task.model, kind: task.kind }) },
  }
}

export interface TailBounds {
  readonly keepAliveCommentMs: number
  readonly clientStallMs: number
  readonly liveTailMs: number
}

interface TailRequest {
  /** Null for every workspace. */
  readonly workspaceId: string | null
  /** Only administrators see actors, and positions in the log, which reveal how much all workspaces do. */
  readonly isAdmin: boolean
  /** Checked before each event is sent. */
  readonly mayGoOn: () => boolean
}

export const tailHeaders = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
} as const

const sseEvent = (name: string, data: object, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

const customerEvent = ({ sequence: _sequence, index: _index, ...event }: LoggedEvent): string =>
  sseEvent('event', { ...event, actor: null })

/** Events that the reader is too slow for are counted and dropped. */
class LiveTail {
  readonly ended: Promise<void>
  readonly #response: ServerResponse
  readonly #wanted: TailRequest
  readonly #stallMs: number
  readonly #keepAlive: NodeJS.Timeout
  readonly #lifetime: NodeJS.Timeout
  #isFull = false
  #keepConnected: (() => void) | null = null
  #missed = 0

  constructor(response: ServerResponse, wanted: TailRequest, bounds: TailBounds) {
    this.#response = response
    this.#wanted = wanted
    this.#stallMs = bounds.clientStallMs
    this.ended = new Promise((resolve) => response.once('close', resolve))
    this.#keepAlive = setInterval(() => this.#write(': keep-alive\n\n'), bounds.keepAliveCommentMs)
    this.#lifetime = setTimeout(() => this.end('time'), bounds.liveTailMs)
    response.once('close', () => this.#clearTimers())
    response.on('drain', () => this.#drained())
  }

  begin(sequence: number): void {
    this.#response.writeHead(200, tailHeaders)
    this.#write(sseEvent('position', this.#wanted.isAdmin ? { sequence } : {}))
  }

  send(events: readonly LoggedEvent[]): void {
    for (const event of events) {
      const { workspaceId, isAdmin } = this.#wanted
      if (workspaceId !== null && event.workspace !== workspaceId) continue
      if (!isAdmin && isHiddenFromKeys({ type: event.type })) continue
      if (this.#isFull) this.#missed += 1
      else this.#write(isAdmin ? sseEvent('event', event, `${event.sequence}-${event.index}`) : customerEvent(event))
    }
  }

  /** `key`: it is no longer valid; `stop`: this edge is stopping; `time`: its reader may connect again. */
  end(reason: 'key' | 'stop' | 'time'): void {
    if (this.#response.writableEnded || this.#response.closed) return
    this.#clearTimers()
    this.#response.end(sseEvent('end', { reason }))
  }

  #clearTimers(): void {
    clearInterval(this.#keepAlive)
    clearTimeout(this.#lifetime)
  }

  #write(text: string): void {
    if (this.#response.writableEnded || this.#isFull) return
    if (!this.#wanted.mayGoOn()) {
      this.end('key')
      return
    }
    this.#isFull = !this.#response.write(text)
    // For a reader that reads nothing at all.
    if (this.#isFull) this.#keepConnected = disconnectAfter(this.#response, this.#stallMs)
  }

  #drained(): void {
    this.#isFull = false
    this.#keepConnected?.()
    const missed = this.#missed
    this.#missed = 0
    if (missed > 0) this.#write(sseEvent('missed', { events: missed }))
  }
}

const retryAfterSeconds = 5

const tooMany = (of: string): GatewayError =>
  new GatewayError('concurrency_limit_exceeded', `Too many live tails of ${of} are open already.`, {
    retryAfterSeconds,
  })

/** Subscribed to the ledger only while there are any. */
export class LiveTails {
  readonly #tail: Pick<LedgerTail, 'ledger' | 'onApplied'>
  readonly #open = new Set<LiveTail>()
  readonly #ofWorkspaces = new FairShares(readLimits.tailsMax, readLimits.tailShareWaitMs)
  #ofAdministrators = 0
  #unlisten: (() => void) | null = null

  constructor(tail: Pick<LedgerTail, 'ledger' | 'onApplied'>) {
    this.#tail = tail
  }

  /** Resolves when the reader has disconnected. Throws `concurrency_limit_exceeded`. */
  open(
    response: ServerResponse,
    wanted: TailRequest,
    bounds: ConstructorParameters<typeof LiveTail>[2],
  ): Promise<void> {
    if (response.closed) return Promise.resolve() // Its reader left while it was signed in; 'close' does not come again.
    this.#take(wanted)
    const live = new LiveTail(response, wanted, bounds)
    this.#open.add(live)
    this.#unlisten ??= this.#tail.onApplied((applied) => this.#send(applied))
    response.once('close', () => this.#forget(live, wanted))
    live.begin(this.#tail.ledger.sequence)
    return live.ended
  }

  /** Open tails would keep an edge from stopping. */
  close(): void {
    for (const live of this.#open) live.end('stop')
  }

  #take({ workspaceId, isAdmin }: TailRequest): void {
    if (isAdmin || workspaceId === null) {
      if (this.#ofAdministrators >= readLimits.tailsOfAdministratorsMax) throw tooMany('administrators')
      this.#ofAdministrators += 1
      return
    }
    if (this.#ofWorkspaces.of(workspaceId) >= readLimits.tailsOfOneMax) throw tooMany('this workspace')
    if (!this.#ofWorkspaces.take(workspaceId)) throw tooMany('all workspaces')
  }

  #leave({ workspaceId, isAdmin }: TailRequest): void {
    if (isAdmin || workspaceId === null) this.#ofAdministrators -= 1
    else this.#ofWorkspaces.leave(workspaceId)
  }

  #send(applied: readonly Applied[]): void {
    const events = applied.map(loggedEventOf)
    for (const live of this.#open) live.send(events)
  }

  #forget(live: LiveTail, wanted: TailRequest): void {
    this.#open.delete(live)
    this.#leave(wanted)
    if (this.#open.size > 0) return
    this.#unlisten?.()
    this.#unlisten = null
  }
}
