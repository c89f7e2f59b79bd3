import { setTimeout as delay } from 'node:timers/promises'
import type { OpenLog } from '../../../src/adapters/nats/log.ts'
import { until } from '../../support/clients.ts'
import { adjustment, adjustmentIdsOf, hold, readAll } from './open.ts'

const appenders = 20
const pollMs = 10
/** After each append: three servers that sync on one disk leave a killed one no room to catch up otherwise. */
const pauseMs = 20
const wallets = ['load-one', 'load-two', 'load-three']

interface Standing {
  readonly id: string
  readonly sequence: number
}

const holdIdsOf = (frame: Awaited<ReturnType<typeof readAll>>[number]): readonly string[] =>
  frame.events.flatMap((event) => (event.type === 'HoldPlaced' ? [event.data.holdId] : []))

const bySequence = (one: Standing, other: Standing): number =>
  one.sequence - other.sequence || one.id.localeCompare(other.id)

/** Appends to the journal and to wallets, each appender one by one, while a follower reads; remembers what was acknowledged. */
export class Load {
  readonly #log: OpenLog
  readonly #acknowledged: Standing[] = []
  readonly #followed: number[] = []
  readonly #work: Promise<unknown>
  readonly #follower: ReturnType<OpenLog['follow']>
  #isRunning = true

  constructor(log: OpenLog) {
    this.#log = log
    this.#follower = log.follow(1, ({ sequence }) => void this.#followed.push(sequence))
    const journal = Array.from({ length: appenders }, (_, appender) => this.#append(`a-${appender}`))
    this.#work = Promise.all([...journal, ...wallets.map((workspaceId) => this.#spend(workspaceId))])
    this.#work.catch(() => {}) // Told by `stop`.
  }

  /** How many appends have been acknowledged so far. */
  get acknowledged(): number {
    return this.#acknowledged.length
  }

  /** Resolves when so many more appends are acknowledged; rejects when they are not `withinMs`. */
  async proceeds(more: number, withinMs: number): Promise<void> {
    const enough = this.acknowledged + more
    const giveUpMs = Date.now() + withinMs
    while (this.acknowledged < enough) {
      if (Date.now() > giveUpMs) throw new Error(`${enough - this.acknowledged} of ${more} appends are missing`)
      await delay(pollMs)
    }
  }

  /** Ends the load; tells what was acknowledged, what stands in the log, and which sequences the follower saw, in order. */
  async stop(): Promise<{
    readonly acknowledged: readonly Standing[]
    readonly standing: readonly Standing[]
    readonly sequences: readonly number[]
    readonly followed: readonly number[]
  }> {
    this.#isRunning = false
    await this.#work
    const last = await this.#log.lastSequence()
    await Promise.race([until(() => this.#followed.at(-1) === last), this.#follower.done])
    await this.#follower.stop()
    const frames = await readAll(this.#log)
    const standing = frames.flatMap((frame) =>
      [...adjustmentIdsOf(frame), ...holdIdsOf(frame)].map((id) => ({ id, sequence: frame.sequence })),
    )
    return {
      acknowledged: this.#acknowledged.toSorted(bySequence),
      standing: standing.toSorted(bySequence),
      sequences: frames.map(({ sequence }) => sequence),
      followed: this.#followed,
    }
  }

  async #append(appender: string): Promise<void> {
    for (let index = 0; this.#isRunning; index += 1) {
      const id = `${appender}-${index}`
      const { sequence } = await this.#log.append([adjustment(id)])
      this.#acknowledged.push({ id, sequence })
      await delay(pauseMs)
    }
  }

  async #spend(workspaceId: string): Promise<void> {
    let expected = 0
    for (let index = 0; this.#isRunning; index += 1) {
      const id = `${workspaceId}-${index}`
      const result = await this.#log.appendToWallet(workspaceId, [hold(id, workspaceId)], expected)
      if ('conflict' in result) throw new Error(`${id} met a conflict with nobody`)
      expected = result.sequence
      this.#acknowledged.push({ id, sequence: expected })
      await delay(pauseMs)
    }
  }
}
