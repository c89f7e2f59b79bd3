import { setTimeout as sleep } from 'node:timers/promises'
import { type FoldSource, foldLog } from '../audit/fold-log.ts'
import { allocateRequest, allocateTask } from '../domain/ledger/allocation.ts'
import { type Applied, initialLedger } from '../domain/ledger/ledger.ts'
import { asObject, parseJson } from '../encoding/json.ts'
import { CommandError } from './report.ts'

const limits = {
  eventsPerBatch: 100, // As many as Lago takes at once.
  attemptsMax: 8,
  backOffMs: 1_000, // Doubled after each attempt.
  backOffMaxMs: 60_000,
  answerTimeoutMs: 30_000,
} as const

/** What one request or task used. The id is that of the request or task, however often it is sent. */
interface UsageEvent {
  readonly id: string
  readonly workspaceId: string
  readonly time: string
  readonly sequence: number
  readonly data: Readonly<Record<string, string | number>>
}

const usageOf = ({ closed, task }: Applied) => {
  if (closed !== null && closed.closing.type !== 'RequestFailed')
    return { time: closed.closing.time, charge: closed.closing.data, allocation: allocateRequest(closed) }
  return task === null ? null : { time: null, charge: task, allocation: allocateTask(task) }
}

const toUsageEvent = (applied: Applied): UsageEvent | null => {
  const movement = applied.movements.find(({ kind }) => kind === 'charge')
  const usage = movement === undefined ? null : usageOf(applied)
  if (movement === undefined || usage === null) return null
  const { charge, allocation } = usage
  const quantities = new Map<string, number>()
  for (const { item, quantity } of charge.lines) quantities.set(item, (quantities.get(item) ?? 0) + Number(quantity))
  return {
    id: movement.reference,
    workspaceId: movement.workspaceId,
    time: usage.time ?? applied.event.time,
    sequence: applied.sequence,
    data: {
      ...Object.fromEntries(Object.entries(allocation.tags).map(([name, value]) => [`tag_${name}`, value])),
      ...Object.fromEntries(quantities),
      ...{ model: allocation.model, key: allocation.keyId, surface: allocation.surface },
      ...{ price_version: allocation.priceVersion, amount_usd: charge.total },
    },
  }
}

const second = 1_000

const lagoRepeated = JSON.stringify({ transaction_id: ['value_already_exist'] })

/** Lago takes all of a batch or nothing, and refuses one with an event that it has: the places of these in the batch. */
const findKnownByLago = (refusal: string): ReadonlySet<number> => {
  const details = asObject(asObject(parseJson(refusal))['error_details'])
  const places = Object.keys(details).filter((place) => JSON.stringify(details[place]) === lagoRepeated)
  return new Set(places.map(Number))
}

/** How a batch is written for its receiver, and what it has of one that it refuses. */
const formats = {
  cloudevents: {
    contentType: 'application/cloudevents-batch+json',
    findKnown: (): ReadonlySet<number> => new Set(),
    body: (events: readonly UsageEvent[]) =>
      events.map(({ id, workspaceId, time, data }) => ({
        ...{ specversion: '1.0', id, source: '/model-gateway', type: 'model_usage', subject: workspaceId, time },
        ...{ datacontenttype: 'application/json', data },
      })),
  },
  lago: {
    contentType: 'application/json',
    findKnown: findKnownByLago,
    body: (events: readonly UsageEvent[]) => ({
      events: events.map(({ id, workspaceId, time, data }) => ({
        ...{ transaction_id: id, external_subscription_id: workspaceId, code: 'model_usage' },
        ...{ timestamp: String(Date.parse(time) / second), properties: data },
      })),
    }),
  },
} as const

export type EventFormat = keyof typeof formats

interface EventReceiver {
  readonly format: EventFormat
  readonly url: string
  /** Sent as a bearer token; empty: none. */
  readonly token: string
  readonly wait?: (ms: number) => Promise<unknown>
  readonly answerTimeoutMs?: number
}

interface Answer {
  /** 0: none came. */
  readonly status: number
  readonly retryAfterMs: number
  /** Of the batch, the places of events that it has already. */
  readonly known: ReadonlySet<number>
}

const post = async (events: readonly UsageEvent[], receiver: EventReceiver): Promise<Answer> => {
  const { contentType, body, findKnown } = formats[receiver.format]
  const { url, token, answerTimeoutMs = limits.answerTimeoutMs } = receiver
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual', // The token is for this receiver alone.
      headers: { 'content-type': contentType, ...(token === '' ? {} : { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body(events)),
      signal: AbortSignal.timeout(answerTimeoutMs),
    })
    const { status, headers } = response
    const known = findKnown((await (status === wrongData ? response.text() : response.body?.cancel())) ?? '')
    const retryAfter = Number(headers.get('retry-after'))
    return { status, retryAfterMs: retryAfter > 0 ? retryAfter * second : 0, known }
  } catch {
    return { status: 0, retryAfterMs: 0, known: new Set() }
  }
}

const wrongData = 422
const okMin = 200
const okMax = 299
const tooMany = 429
const serverErrorMin = 500
const isAccepted = ({ status }: Answer): boolean => status >= okMin && status <= okMax
const mayBeRepeated = ({ status }: Answer): boolean => status === 0 || status === tooMany || status >= serverErrorMin
/** Of the whole batch, whatever its events are. */
const refusesAll = ({ status }: Answer): boolean => [401, 403, 404, 405, 415].includes(status)

const describe = ({ status }: Answer): string => (status === 0 ? 'no answer' : `status ${status}`)

/** Resolves once all are accepted. Of a batch that is refused, those before the first bad event are sent, and it is named. */
const sendBatch = async (events: readonly UsageEvent[], receiver: EventReceiver): Promise<void> => {
  const [first] = events
  if (first === undefined) return
  const { wait = sleep } = receiver
  let answer = await post(events, receiver)
  for (let attempt = 1; mayBeRepeated(answer) && attempt < limits.attemptsMax; attempt += 1) {
    const backOffMs = Math.max(limits.backOffMs * 2 ** (attempt - 1), answer.retryAfterMs)
    await wait(Math.min(backOffMs, limits.backOffMaxMs))
    answer = await post(events, receiver)
  }
  if (isAccepted(answer)) return
  const left = events.filter((_, place) => !answer.known.has(place))
  if (left.length < events.length) return sendBatch(left, receiver)
  if (mayBeRepeated(answer))
    throw new CommandError(`${limits.attemptsMax} attempts ended with ${describe(answer)}, the event ${first.id} first`)
  if (events.length === 1 || refusesAll(answer))
    throw new CommandError(`the receiver refused the event ${first.id}: ${describe(answer)}`)
  const half = Math.ceil(events.length / 2)
  await sendBatch(events.slice(0, half), receiver)
  await sendBatch(events.slice(half), receiver)
}

/**
 * Sends what is charged from the frame `from` on, at least once; returns how many events. `onPosition` gets the frame from which the
 * next run has to begin: all before it are accepted.
 */
export const sendUsageEvents = async (
  log: FoldSource,
  from: number,
  receiver: EventReceiver,
  onPosition: (sequence: number) => Promise<void> | void,
): Promise<number> => {
  let batch: UsageEvent[] = []
  let sent = 0
  const flush = async (next: number): Promise<void> => {
    await sendBatch(batch, receiver)
    sent += batch.length
    batch = []
    await onPosition(next)
  }
  const ledger = initialLedger()
  for await (const applied of foldLog(log, ledger))
    for (const each of applied) {
      const event = each.sequence < from ? null : toUsageEvent(each)
      if (event === null) continue
      batch.push(event)
      // The frame may have more events, which are sent again where the next batch fails.
      if (batch.length === limits.eventsPerBatch) await flush(event.sequence)
    }
  await flush(Math.max(from, log.to + 1))
  return sent
}
