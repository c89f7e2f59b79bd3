import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { chargeFor } from '../../src/domain/pricing/charge.ts'
import type { PriceBook } from '../../src/domain/pricing/price-book.ts'
import { publishPrice } from '../../src/domain/pricing/price-book.ts'
import { usageOf } from '../../src/domain/usage/usage.ts'
import { unitsPicosRoundingHalfUp } from '../../src/domain/video/settle.ts'
import { type Fact, wrapEvent } from '../../src/events/envelope.ts'
import type { ChargeLine, PriceSheet } from '../../src/events/types.ts'
import {
  credited,
  failed,
  holdPlaced,
  lateVerdict,
  opened,
  routed,
  taskFailed,
  taskPlaced,
  taskProgressed,
  taskSettled,
  taskSubmitted,
  used,
} from '../roles/projector/facts.ts'
import { MemoryLog } from '../support/memory-log.ts'

/** What a provider did, as the ledger of the tests has it. */
export interface Charged {
  readonly id: string
  readonly workspaceId: string
  /** The name of the model alone. */
  readonly model: string
  /** Where its charge stands. */
  readonly day: string
  readonly atMs: number
  /** Another day, on which the provider may have booked it; null for most. */
  readonly otherDay: string | null
  readonly estimated: boolean
  readonly lines: readonly ChargeLine[]
  readonly totalPicos: bigint
}

export interface OpenOne {
  readonly id: string
  readonly model: string
  readonly day: string
  readonly reservedPicos: bigint
}

export interface ChargedTask extends Charged {
  readonly units: string
}

export interface ProviderTruth {
  readonly provider: string
  readonly charged: readonly Charged[]
  readonly open: readonly OpenOne[]
  readonly failed: readonly OpenOne[]
  readonly tasks: readonly ChargedTask[]
  readonly openTasks: readonly string[]
  readonly failedTasks: readonly string[]
}

export const days = ['2026-03-01', '2026-03-02', '2026-03-03', '2026-03-04'] as const
export const dayBeforeAll = '2026-02-28'
export const dayAfterAll = '2026-03-05'
/** `d` is priced and never used. */
export const models = ['a', 'b', 'c', 'd'] as const
export const unitPrice = '0.14'
/** What 45 units cost. */
const filmHeld = '6.3'
export const workspaces = ['acme', 'globex', 'initech'] as const

/** Who makes videos sells no tokens. */
export const filmsOf = (provider: string): string => `${provider}-films`

export const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '1.25', cached_input: '0.125', output: '10' },
  max_output_tokens: 4096,
}

const priceEvents = (provider: string): readonly Fact[] => [
  ...models.map(
    (model): Fact => ({
      type: 'PricePublished',
      data: {
        model: `${provider}/${model}`,
        version: 'v1',
        effectiveFrom: '2026-01-01T00:00:00Z',
        source: 'a test',
        sheet,
      },
    }),
  ),
  {
    type: 'PricePublished',
    data: {
      model: `${filmsOf(provider)}/film`,
      version: 'v1',
      effectiveFrom: '2026-01-01T00:00:00Z',
      source: 'a test',
      video: { currency: 'USD', unit_price: unitPrice, units_per_second: { std: '0.6' } },
    },
  },
]

export const pricesOf = (providers: readonly string[]): PriceBook => {
  const book: PriceBook = new Map()
  for (const provider of providers)
    for (const fact of priceEvents(provider)) if (fact.type === 'PricePublished') publishPrice(book, fact.data)
  return book
}

const secondMs = 1_000
const hourMs = 3_600 * secondMs
const midnightOf = (day: string): number => Date.parse(`${day}T00:00:00Z`)
const isoOf = (atMs: number): string => new Date(atMs).toISOString()
const dayOf = (atMs: number): string => isoOf(atMs).slice(0, 'YYYY-MM-DD'.length)

/** Writes a log whose events have the times that they are given. */
class Writing {
  readonly log = new MemoryLog()
  #counter = 0

  add(atMs: number, fact: Fact, walletSubject: string | null = null): void {
    this.#counter += 1
    const event = wrapEvent(fact, `event-${this.#counter}`, '/gateway/test', isoOf(atMs))
    const writer = walletSubject === null ? 'journal' : 'wallet'
    this.log.store({ walletSubject, writer, counter: this.#counter, events: [event] })
  }
}

interface Asked {
  readonly id: string
  readonly model: string
  readonly fromMs: number
  readonly toMs: number
  readonly estimated?: boolean
  readonly otherDay?: string
}

/** Puts one provider's traffic into the log. */
class Traffic {
  readonly charged: Charged[] = []
  readonly open: OpenOne[] = []
  readonly failed: OpenOne[] = []
  readonly tasks: ChargedTask[] = []
  readonly #writing: Writing
  readonly #provider: string
  readonly #random: () => number

  constructor(writing: Writing, provider: string, random: () => number) {
    this.#writing = writing
    this.#provider = provider
    this.#random = random
  }

  below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }

  ask({ id, model, fromMs, toMs, estimated = false, otherDay }: Asked): void {
    const workspaceId = workspaces[this.below(workspaces.length)]!
    const publicId = `${this.#provider}/${model}`
    this.#route(id, workspaceId, publicId, fromMs, '0.5')
    const prompt = 100 + this.below(5_000)
    const usage = usageOf(
      { total: prompt, cacheRead: this.below(100) },
      { total: 10 + this.below(1_000), reasoning: 5 },
    )
    const { lines, totalPicos } = chargeFor(sheet, usage)
    const bill = { workspaceId, model: publicId, provider: this.#provider, usage, lines: [...lines] }
    const source = estimated ? 'estimated' : 'reported'
    this.#writing.add(toMs, used(id, { ...bill, source, total: formatUsd(totalPicos) }))
    const day = dayOf(toMs)
    this.charged.push({
      id,
      workspaceId,
      model,
      day,
      atMs: toMs,
      otherDay: otherDay ?? null,
      estimated,
      lines,
      totalPicos,
    })
  }

  leaveOpen(id: string, model: string, atMs: number, reserved: string): void {
    this.#route(id, workspaces[0], `${this.#provider}/${model}`, atMs, reserved)
    this.open.push({ id, model, day: dayOf(atMs), reservedPicos: parseUsd(reserved) })
  }

  /** A closing event that comes second, and a hold that nobody ends. */
  leaveTraces(id: string, holdId: string, atMs: number): void {
    this.#writing.add(atMs, used(id))
    this.#writing.add(atMs, holdPlaced(holdId), workspaces[0])
  }

  fail(id: string, model: string, atMs: number): void {
    this.#route(id, workspaces[0], `${this.#provider}/${model}`, atMs, '0.5')
    this.#writing.add(atMs + secondMs, failed(id))
    this.failed.push({ id, model, day: dayOf(atMs), reservedPicos: 0n })
  }

  film(id: string, queuedMs: number, finishedMs: number, estimated = false, otherDay?: string): void {
    const workspaceId = this.#queueFilm(id, queuedMs)
    const units = `${1 + this.below(9)}.${1 + this.below(9)}`
    const totalPicos = unitsPicosRoundingHalfUp(units, unitPrice)
    const total = formatUsd(totalPicos)
    const line = { item: 'video', unitPrice, amount: total } as const
    const source: 'estimated' | 'reported' = estimated ? 'estimated' : 'reported'
    const charge = { deduction: units, source, lines: [{ ...line, quantity: units }], total }
    this.#writing.add(finishedMs, taskSettled(id, { workspaceId, held: filmHeld, ...charge }))
    const lines = [{ ...line, quantity: Number(units) }]
    const common = {
      id,
      workspaceId,
      model: 'film',
      day: dayOf(finishedMs),
      atMs: finishedMs,
      otherDay: otherDay ?? null,
    }
    this.tasks.push({ ...common, estimated, lines, totalPicos, units })
  }

  /** Its vendor reports a success later, which two pollers record. */
  filmThatFails(id: string, queuedMs: number, lateMs: number): void {
    const workspaceId = this.#queueFilm(id, queuedMs)
    this.#writing.add(queuedMs + hourMs, taskFailed(id, { workspaceId, held: filmHeld }))
    const verdict = lateVerdict(id, { workspaceId, deduction: '3', cost: '0.42' })
    for (const atMs of [lateMs, lateMs + secondMs]) this.#writing.add(atMs, verdict)
  }

  filmWithoutEnd(id: string, queuedMs: number): void {
    const workspaceId = this.#queueFilm(id, queuedMs)
    this.#writing.add(queuedMs + secondMs, taskProgressed(id, 50, 'IN_PROGRESS', workspaceId))
  }

  #queueFilm(id: string, queuedMs: number): string {
    const workspaceId = workspaces[this.below(workspaces.length)]!
    const provider = filmsOf(this.#provider)
    const order = { model: `${provider}/film`, provider, unitPrice, unitsMax: '45' }
    this.#writing.add(queuedMs, taskPlaced(id, order, workspaceId, filmHeld), workspaceId)
    this.#writing.add(queuedMs + secondMs, taskSubmitted(id, `vendor-${id}`, workspaceId))
    return workspaceId
  }

  #route(requestId: string, workspaceId: string, publicId: string, atMs: number, reserved: string): void {
    const [, upstreamModel = ''] = publicId.split('/')
    const candidates = [{ model: publicId, provider: this.#provider, upstreamModel, priceVersion: 'v1' }]
    this.#writing.add(atMs, routed(requestId, { workspaceId, model: publicId, candidates, reserved }))
  }
}

/** Away from midnight by hours. */
const sometime = (traffic: Traffic, day: string): number =>
  midnightOf(day) + 2 * hourMs + traffic.below(20 * 3_600) * secondMs

const addPlain = (traffic: Traffic, provider: string): void => {
  for (const day of days)
    for (const model of ['a', 'b', 'c'])
      for (let each = 0; each < 3 + traffic.below(4); each += 1) {
        const fromMs = sometime(traffic, day)
        const estimated = model === 'b' && day === days[1] && each < 2
        traffic.ask({ id: `${provider}-${model}-${day}-${each}`, model, fromMs, toMs: fromMs + 4_000, estimated })
      }
}

/** Of model c: one over each midnight, and one that ends just before it. */
const addStraddlers = (traffic: Traffic, provider: string): void => {
  const edges = [dayBeforeAll, ...days, dayAfterAll]
  for (const [place, day] of edges.entries()) {
    if (place === 0) continue
    const midnightMs = midnightOf(day)
    const before = edges[place - 1]!
    const id = `${provider}-c-over-${day}`
    traffic.ask({ id, model: 'c', fromMs: midnightMs - 20_000, toMs: midnightMs + 15_000, otherDay: before })
    const late = `${provider}-c-until-${day}`
    traffic.ask({ id: late, model: 'c', fromMs: midnightMs - 30_000, toMs: midnightMs - 2_000, otherDay: day })
  }
}

const addUnfinished = (traffic: Traffic, provider: string): void => {
  traffic.leaveOpen(`${provider}-open`, 'b', sometime(traffic, days[2]), '0.25')
  traffic.fail(`${provider}-failed`, 'a', sometime(traffic, days[0]))
  traffic.leaveTraces(`${provider}-a-${days[0]}-0`, `${provider}-hold`, midnightOf(dayAfterAll))
}

const addTasks = (traffic: Traffic, provider: string): void => {
  const minutesMs = 5 * 60_000
  for (const day of days)
    for (let each = 0; each < 3; each += 1) {
      const queuedMs = sometime(traffic, day)
      traffic.film(`${provider}-film-${day}-${each}`, queuedMs, queuedMs + minutesMs, each === 2)
    }
  const [firstMs, endMs] = [midnightOf(days[0]), midnightOf(dayAfterAll)]
  traffic.film(`${provider}-film-over-start`, firstMs - minutesMs, firstMs + minutesMs, false, dayBeforeAll)
  traffic.film(`${provider}-film-over-end`, endMs - minutesMs, endMs + minutesMs, false, days[3])
  traffic.filmThatFails(`${provider}-film-failed`, firstMs + hourMs, midnightOf(days[1]))
  traffic.filmWithoutEnd(`${provider}-film-open`, firstMs + hourMs)
}

export interface TestLedger {
  readonly log: MemoryLog
  readonly truths: readonly ProviderTruth[]
}

/** A ledger of some providers with all that reconciliation tells apart: estimates, requests without an end, and over midnight. */
export const makeLedger = (providers: readonly string[], random: () => number): TestLedger => {
  const writing = new Writing()
  const startMs = midnightOf('2026-02-01')
  for (const workspaceId of workspaces) {
    writing.add(startMs, opened(workspaceId))
    writing.add(startMs, credited('first', '1000', workspaceId), workspaceId)
  }
  const truths = providers.map((provider): ProviderTruth => {
    for (const fact of priceEvents(provider)) writing.add(startMs, fact)
    const traffic = new Traffic(writing, provider, random)
    addPlain(traffic, provider)
    addStraddlers(traffic, provider)
    addUnfinished(traffic, provider)
    addTasks(traffic, provider)
    const { charged, open, failed: failures, tasks: films } = traffic
    const [openTasks, failedTasks] = [[`${provider}-film-open`], [`${provider}-film-failed`]]
    return { provider, charged, open, failed: failures, tasks: films, openTasks, failedTasks }
  })
  return { log: writing.log, truths }
}
