import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { nuid } from '@nats-io/transport-node'
import { currentProcess, runIn, type SimProcess } from './process.ts'
import { cancel, type Task, TaskHeap } from './task-heap.ts'
import { realImmediate } from './thread-immediates.ts'

/** As Node's own, as far as the program uses it. */
class VirtualTimer {
  readonly #time: VirtualTime
  readonly #callback: () => void
  readonly #delayMs: number
  readonly #repeats: boolean
  #task: Task

  constructor(time: VirtualTime, callback: () => void, delayMs: number, repeats: boolean) {
    this.#time = time
    this.#callback = callback
    this.#delayMs = Math.max(1, Number.isFinite(delayMs) ? Math.trunc(delayMs) : 1)
    this.#repeats = repeats
    this.#task = this.#schedule()
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  refresh(): this {
    this.close()
    this.#task = this.#schedule()
    return this
  }

  close(): this {
    cancel(this.#task)
    return this
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #schedule(): Task {
    return this.#time.schedule(this.#delayMs, () => {
      if (this.#repeats) this.#task = this.#schedule()
      this.#callback()
    })
  }
}

// Done when it is first needed, each of these would make the first run in a process another than the second.
await import('gpt-tokenizer/encoding/o200k_base')
nuid.next()

/** A turn costs several microseconds, whatever is done in it. */
const stepsOfTurn = 200
const realDate = globalThis.Date
/** 2026-03-02, a Monday. */
export const epochMs = 1_772_409_600_000

const patched = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
] as const

type Callback = (...values: unknown[]) => void

const clear = (timer: unknown): void => {
  if (timer instanceof VirtualTimer) timer.close()
}

/** The only time there is while it is installed: nothing happens between two tasks. */
export class VirtualTime {
  nowMs = 0
  /** How far the wall clocks of all are ahead of the time that went by. */
  wallOffsetMs = 0
  /** Tasks that were run. */
  steps = 0
  readonly #heap = new TaskHeap()
  #order = 0

  /** For the process that runs now. */
  schedule(delayMs: number, run: () => void): Task {
    return this.scheduleFor(currentProcess(), delayMs, run)
  }

  /** It does not happen where the process has died before. */
  scheduleFor(process: SimProcess | undefined, delayMs: number, run: () => void): Task {
    this.#order += 1
    const task: Task = { atMs: this.nowMs + delayMs, order: this.#order, process, run, isCancelled: false }
    this.#heap.push(task)
    return task
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.schedule(delayMs, resolve))
  }

  wallMs(process: SimProcess | undefined = currentProcess()): number {
    return epochMs + Math.floor(this.nowMs) + this.wallOffsetMs + (process?.clockOffsetMs ?? 0)
  }

  /** Until the predicate holds, which is asked after every step; throws where nothing is left to do before. */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let isEnded = false
      const end = (conclude: () => void): void => {
        isEnded = true
        conclude()
      }
      const step = (): void => {
        if (isEnded) return
        try {
          if (isOver()) end(resolve)
          else this.#runNext()
        } catch (fault) {
          end(() => reject(fault))
        }
      }
      // Node runs all microtasks and ticks between two immediates, also within one turn of the event loop.
      const turn = (): void => {
        if (isEnded) return
        for (let count = 0; count < stepsOfTurn; count += 1) realImmediate(step)
        realImmediate(turn)
      }
      turn()
    })
  }

  /** Until all that follows at once from what was done has happened. */
  turn(): Promise<void> {
    return new Promise((resolve) => realImmediate(resolve))
  }

  #runNext(): void {
    let task = this.#heap.pop()
    while (task !== undefined && (task.isCancelled || task.process?.isDead)) task = this.#heap.pop()
    if (task === undefined) throw new Error('nothing is left to happen')
    this.nowMs = Math.max(this.nowMs, task.atMs)
    this.steps += 1
    runIn(task.process, task.run)
  }

  /**
   * Replaces timers, clocks and the random numbers of the JavaScript runtime; returns the function that puts them back.
   * Libraries draw as often as they like, so `random` must be a sequence of its own.
   */
  install(random: () => number): () => void {
    const saved = patched.map((name) => [name, globalThis[name], timers[name]] as const)
    const { timeout } = AbortSignal
    const { now } = performance
    const { random: realRandom } = Math
    const { setTimeout: delay, setImmediate: turn } = timersPromises
    const own = this.#timers()
    Object.assign(globalThis, own, { Date: this.#dateClass() })
    Object.assign(timers, own)
    Object.assign(timersPromises, { setTimeout: this.#delay(), setImmediate: () => this.sleep(0) })
    Object.assign(AbortSignal, { timeout: (ms: number) => this.#abortAfter(ms) })
    Object.assign(performance, { now: () => this.nowMs })
    Math.random = random
    syncBuiltinESMExports()
    return () => {
      for (const [name, ofGlobal, ofModule] of saved) {
        Object.assign(globalThis, { [name]: ofGlobal })
        Object.assign(timers, { [name]: ofModule })
      }
      Object.assign(globalThis, { Date: realDate })
      Object.assign(timersPromises, { setTimeout: delay, setImmediate: turn })
      Object.assign(AbortSignal, { timeout })
      Object.assign(performance, { now })
      Math.random = realRandom
      syncBuiltinESMExports()
    }
  }

  #timers(): Record<(typeof patched)[number], unknown> {
    const timer =
      (repeats: boolean) =>
      (callback: Callback, delayMs = 1, ...values: unknown[]) =>
        new VirtualTimer(this, values.length === 0 ? callback : () => callback(...values), delayMs, repeats)
    return {
      setTimeout: timer(false),
      setInterval: timer(true),
      setImmediate: (callback: Callback, ...values: unknown[]) => this.schedule(0, () => callback(...values)),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: (task: Task | null | undefined) => {
        if (task) cancel(task)
      },
    }
  }

  #delay() {
    return <T>(delayMs = 1, value?: T, { signal }: { readonly signal?: AbortSignal } = {}): Promise<T> =>
      new Promise((resolve, reject) => {
        const abort = (): void => {
          timer.close()
          reject(new DOMException('The operation was aborted', { name: 'AbortError', cause: signal?.reason }))
        }
        const timer = new VirtualTimer(
          this,
          () => {
            signal?.removeEventListener('abort', abort)
            resolve(value as T)
          },
          delayMs,
          false,
        )
        if (signal?.aborted) abort()
        else signal?.addEventListener('abort', abort, { once: true })
      })
  }

  #abortAfter(ms: number): AbortSignal {
    const controller = new AbortController()
    this.schedule(ms, () => controller.abort(new DOMException('The operation timed out', 'TimeoutError')))
    return controller.signal
  }

  #dateClass(): DateConstructor {
    const now = (): number => this.wallMs()
    return class extends realDate {
      constructor(...values: readonly number[]) {
        if (values.length === 0) super(now())
        else super(...(values as [number]))
      }
      static override now = now
      static override [Symbol.hasInstance](value: unknown): boolean {
        return value instanceof realDate
      }
    } as DateConstructor
  }
}
