import { setImmediate as turn } from 'node:timers/promises'
import { formatUsd } from '../../../src/domain/money.ts'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import { usageOf } from '../../../src/domain/usage/usage.ts'
import { type Event, type Fact, wrapEvent } from '../../../src/events/envelope.ts'
import type { EventLog, Follower, Frame } from '../../../src/log/event-log.ts'
import { courseOf, holdOf } from './task-facts.ts'

/** Who pays for all that is generated. */
export const payer = 'acme'

export const firstDayMs = Date.parse('2026-01-01T00:00:00.000Z')
export const dayMs = 86_400_000

const surfaces = ['chat', 'messages', 'responses'] as const
const requestsInFrame = 20
const framesBetweenTurns = 64
const jitterMs = 3_000 // Writers' clocks and acknowledgements differ: times are not in the order of the log.
const reserved = '0.002'
const priceVersion = '0123456789abcdef'
const deadline = '2100-01-01T00:00:00.000Z'
const sheet = {
  currency: 'USD',
  per_million_tokens: { input: '0.15', cached_input: '0.075', output: '0.60' },
  max_output_tokens: 16_384,
} as const

export interface Generated {
  readonly requests: number
  readonly days: number
  /** Each has a surface of its own, */
  readonly keys: number
  /** and asks for so many models, */
  readonly modelsOfKey: number
  /** of so many that there are. */
  readonly models: number
  /** Of a tag that each request has; absent: no tags. */
  readonly tagValues?: number
}

export const keyOf = (number: number): string => `key_${String(number).padStart(4, '0')}`
export const modelOf = (number: number): string => `openai/model-${number}`
export const requestIdOf = (number: number): string => `request-${String(number).padStart(9, '0')}`

/** A number below `below` that looks random and is always the same. */
const scattered = (number: number, below: number): number =>
  Number((BigInt(number) * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % 2_147_483_647n) % below

const bill = (tokens: number) => {
  const usage = usageOf({ total: 400 + tokens, cacheRead: 200 }, { total: 50 + (tokens % 100) })
  const { lines, totalPicos } = chargeFor(sheet, usage)
  return { usage, lines: [...lines], total: formatUsd(totalPicos) }
}

/** A log that is made as it is read: nothing of it is kept. */
export class GeneratedLog implements Pick<EventLog, 'follow'> {
  readonly frames: number
  readonly #shape: Generated
  #events = 0

  constructor(shape: Generated) {
    this.#shape = shape
    this.frames = 2 + Math.ceil(shape.requests / requestsInFrame)
  }

  /** How many were made so far. */
  get events(): number {
    return this.#events
  }

  follow(fromSequence: number, onFrame: (frame: Frame) => void | Promise<void>): Follower {
    let stopped = false
    const run = async (): Promise<void> => {
      for (let sequence = fromSequence; sequence <= this.frames && !stopped; sequence += 1) {
        const busy = onFrame(this.#frame(sequence))
        if (busy instanceof Promise) await busy
        else if (sequence % framesBetweenTurns === 0) await turn()
      }
    }
    return {
      done: turn().then(run),
      behindSinceMs: null,
      stop: async () => {
        stopped = true
      },
    }
  }

  #frame(sequence: number): Frame {
    const isOfWallet = sequence === 2
    const events = isOfWallet
      ? this.#walletEvents()
      : sequence === 1
        ? this.#opening()
        : this.#requestEvents(sequence - 3)
    this.#events += events.length
    return isOfWallet
      ? { sequence, walletSubject: payer, writer: 'bench-wallet', counter: 1, events }
      : { sequence, walletSubject: null, writer: 'bench', counter: Math.max(1, sequence - 1), events }
  }

  #opening(): readonly Event[] {
    return [this.#event({ type: 'WorkspaceOpened', data: { workspaceId: payer, name: payer, creditLimit: '0' } }, 0, 0)]
  }

  #walletEvents(): readonly Event[] {
    const facts: Fact[] = [
      { type: 'WalletCredited', data: { workspaceId: payer, amount: '1000000', reference: 'bench', note: '' } },
      {
        type: 'HoldPlaced',
        data: {
          ...{ holdId: 'allowance', workspaceId: payer, purpose: 'allowance', amount: '500000', deadline },
          owner: 'bench',
        },
      },
    ]
    return facts.map((fact, place) => this.#event(fact, 1, place))
  }

  #requestEvents(frame: number): readonly Event[] {
    const first = frame * requestsInFrame
    const events: Event[] = []
    for (let request = first; request < Math.min(first + requestsInFrame, this.#shape.requests); request += 1)
      for (const fact of this.#requestFacts(request)) events.push(this.#event(fact, request, events.length))
    for (const fact of this.#taskFacts(first)) events.push(this.#event(fact, first, events.length))
    return events
  }

  /** A video task with every frame of requests. */
  #taskFacts(request: number): readonly Fact[] {
    const keyId = keyOf(scattered(request, this.#shape.keys))
    const task = { taskId: `task-${request}`, workspaceId: payer, keyId, owner: 'bench' }
    return [holdOf(task), ...courseOf(task)]
  }

  #requestFacts(request: number): readonly Fact[] {
    const { keys, models, modelsOfKey, tagValues } = this.#shape
    const key = scattered(request, keys)
    const model = modelOf((key * 7 + scattered(request + 1, modelsOfKey)) % models)
    const common = {
      ...{ requestId: requestIdOf(request), workspaceId: payer, keyId: keyOf(key), allowanceId: 'allowance', reserved },
      surface: surfaces[key % surfaces.length]!,
    }
    const candidate = { model, provider: 'openai', upstreamModel: model, priceVersion }
    const served = { model, provider: 'openai', outcome: 'served', status: 200, reason: null, durationMs: 812 } as const
    return [
      {
        type: 'RequestRouted',
        data: {
          ...{ ...common, model, router: null, stream: false, candidates: [candidate], outputCap: null, deadline },
          ...(tagValues === undefined ? {} : { tags: { team: `team-${scattered(request + 4, tagValues)}` } }),
        },
      },
      {
        type: 'UsageRecorded',
        data: {
          ...common,
          ...bill(scattered(request + 2, 1_000)),
          ...{ model, provider: 'openai', level: 0, priceVersion, source: 'reported', outcome: 'completed' },
          attempts: [served],
        },
      },
    ]
  }

  #event(fact: Fact, request: number, place: number): Event {
    const { requests, days } = this.#shape
    const ms = firstDayMs + Math.floor((request * days * dayMs) / requests) + scattered(request + 3, jitterMs)
    return wrapEvent(fact, `${request}-${place}`, '/gateway/bench/bench', new Date(ms).toISOString())
  }
}
