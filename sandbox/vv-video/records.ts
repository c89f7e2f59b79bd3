import { sandboxLimits } from '../answers/limits.ts'
import { type Course, FaultQueue, type VideoCall, type VideoDirectives, type VideoFault } from './directives.ts'

/** A created task. Times are milliseconds since the epoch. */
export interface VideoTask {
  readonly id: string
  readonly kind: string
  readonly externalId: string | null
  readonly model: string
  readonly madeMs: number
  readonly watermark: boolean
  readonly seconds: number
  /** What it costs where no directive sets another price. */
  readonly units: string
  startsMs: number
  endsMs: number
  course: Course
  queries: number
}

export interface VideoRecord {
  readonly externalId: string | null
  readonly faults: FaultQueue
  readonly tasks: VideoTask[]
  submits: number
  queries: number
}

interface Counts {
  submits: number
  made: number
  queries: number
  lists: number
  callbacksAsked: number
}

const noCounts: Counts = { submits: 0, made: 0, queries: 0, lists: 0, callbacksAsked: 0 }

/** Bounded in number: the oldest go first. */
export class VideoRecords {
  readonly #records = new Map<string, VideoRecord>()
  readonly #byTask = new Map<string, VideoRecord>()
  #anonymous = 0
  counts: Counts = { ...noCounts }

  /** Created where there is none yet; directives of the first submit count. */
  ofSubmit(externalId: string | null, { faults }: VideoDirectives): VideoRecord {
    this.#anonymous += externalId === null ? 1 : 0
    const key = externalId === null ? `\n${this.#anonymous}` : externalId
    const known = this.#records.get(key)
    if (known !== undefined) return known
    const record = { externalId, faults: new FaultQueue(faults), tasks: [], submits: 0, queries: 0 }
    this.#records.set(key, record)
    this.#dropOldest()
    return record
  }

  add(record: VideoRecord, task: VideoTask): void {
    record.tasks.push(task)
    this.#byTask.set(task.id, record)
    this.counts.made += 1
  }

  find(id: string): VideoRecord | undefined {
    return this.#records.get(id) ?? this.#byTask.get(id)
  }

  /** An external id names its first task. */
  task(id: string): VideoTask | undefined {
    const tasks = this.find(id)?.tasks
    return tasks?.find((task) => task.id === id) ?? tasks?.[0]
  }

  all(): readonly VideoRecord[] {
    return [...this.#records.values()]
  }

  tasks(): readonly VideoTask[] {
    return this.all().flatMap((record) => record.tasks)
  }

  reset(): void {
    this.#records.clear()
    this.#byTask.clear()
    this.counts = { ...noCounts }
  }

  #dropOldest(): void {
    const [oldest] = this.#records
    if (this.#records.size <= sandboxLimits.sandboxVideosMax || oldest === undefined) return
    const [key, record] = oldest
    this.#records.delete(key)
    for (const task of record.tasks) this.#byTask.delete(task.id)
  }
}

export class Pace {
  #times: number[] = []
  #oldest = 0
  #most = 0

  get most(): number {
    return this.#most
  }

  note(nowMs: number): void {
    this.#times.push(nowMs)
    while ((this.#times[this.#oldest] ?? nowMs) <= nowMs - 1_000) this.#oldest += 1
    this.#most = Math.max(this.#most, this.#times.length - this.#oldest)
    if (this.#oldest <= sandboxLimits.sandboxCallsMax) return
    this.#times = this.#times.slice(this.#oldest)
    this.#oldest = 0
  }

  reset(): void {
    this.#times = []
    this.#oldest = 0
    this.#most = 0
  }
}

/** Faults set for all tasks come first. */
export const findVideoFault = (
  everywhere: FaultQueue,
  record: VideoRecord | undefined,
  call: VideoCall,
): VideoFault | null => everywhere.next(call) ?? record?.faults.next(call) ?? null
