import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse } from '../../src/providers/http.ts'
import type { Ports } from './ports.ts'
import { currentProcess, noAnswer, type SimProcess } from './process.ts'
import type { DeductionMode, SubmitMode, VideoAction } from './video-plan.ts'
import type { VirtualTime } from './virtual-time.ts'
import { waitForAnswer } from './wait-for-answer.ts'

export interface Verdict {
  readonly outcome: 'SUCCESS' | 'FAILURE'
  /** As written; null where it is left out. */
  readonly deduction: string | null
}

export interface VendorTask {
  readonly vendorTaskId: string
  /** Ours. */
  readonly taskId: string
  readonly action: VideoAction
  /** When the submit began that made it. */
  readonly submittedMs: number
  /** Infinite where it never ends. */
  readonly endsMs: number
  /** Every verdict that was sent. */
  readonly reported: Verdict[]
}

export interface VendorParts {
  readonly time: VirtualTime
  readonly random: () => number
  readonly ports: Ports
  readonly actionOf: (number: number) => VideoAction | undefined
  /** From then on it answers well and in time. */
  readonly isDraining: () => boolean
  readonly violate: (text: string) => void
}

interface Reply {
  readonly status: number
  readonly body: object | string
  /** A task of which it shows the end. */
  readonly verdict?: readonly [VendorTask, Verdict]
}

interface Submit {
  readonly taskId: string
  readonly number: number
  readonly submittedMs: number
}

interface SubmitBody {
  readonly prompt: string
  readonly external_task_id: string
}

/** Units a second at the vendor. */
export const vendorUnitsPerSecond = 0.6
export const vendorBaseUrl = 'https://vendor.example/v1'

/** A submit takes no longer. */
const lookUpAfterMs = 1_900

const envelope = (code: number, message: string, data?: object): object => ({ code, message, request_id: 'r1', data })

const deductionText = (mode: DeductionMode, seconds: number): string | null => {
  const exact = vendorUnitsPerSecond * seconds
  switch (mode) {
    case 'exact':
      return exact.toFixed(1)
    case 'less':
      return (exact / 2).toFixed(2)
    case 'more':
      return (exact * 1.5).toFixed(2)
    case 'absurd':
      return (exact * 50).toFixed(0)
    case 'absent':
      return null
    case 'unreadable':
      return 'about ten'
  }
}

/** A vendor of videos that keeps our task id unique, counts what it has made, and may answer anything. */
export class SimVendor {
  /** By our task id. */
  readonly tasks = new Map<string, VendorTask>()
  downUntilMs = 0
  readonly #byOwnId = new Map<string, VendorTask>()
  readonly #submits = new Map<number, number>()
  /** Submits that may have been done, and after which the vendor was not asked for the task. */
  readonly #doubts = new Map<string, { readonly process: SimProcess | undefined; readonly atMs: number }>()
  /** When each process last looked a task up. */
  readonly #lookUps = new Map<string, Map<string | undefined, number>>()
  /** When the poller that settled a task as refused had last looked it up. */
  readonly #refusals = new Map<string, number>()
  /** Tasks that it has, and did not find once. */
  readonly #denied = new Set<string>()
  /** Submits that it takes, though it has no task of them yet. */
  readonly #pending = new Set<string>()
  readonly #parts: VendorParts

  constructor(parts: VendorParts) {
    this.#parts = parts
  }

  client(): HttpClient {
    return { request: (request) => this.#request(request) }
  }

  /** The first verdict; a contradicting vendor reports another one from its second on. */
  verdictOf({ action, reported }: VendorTask): Verdict {
    const { end, deduction, seconds, contradicts } = action
    const isFirst = reported.length === 0 || !contradicts
    const succeeds = (end === 'succeeds') === isFirst
    return { outcome: succeeds ? 'SUCCESS' : 'FAILURE', deduction: succeeds ? deductionText(deduction, seconds) : null }
  }

  /** As its end in the log. */
  refusalStored(taskId: string, process: SimProcess | undefined): void {
    const lookedUpMs = this.#lookUps.get(taskId)?.get(process?.name)
    if (lookedUpMs !== undefined) this.#refusals.set(taskId, lookedUpMs)
  }

  /** It had the task, or was taking it, when it was looked up for the last time. */
  isWronglyRefused({ taskId, submittedMs }: VendorTask): boolean {
    return submittedMs < (this.#refusals.get(taskId) ?? 0)
  }

  async #request(request: HttpRequest): Promise<HttpResponse> {
    const { ports, time } = this.#parts
    const process = currentProcess()
    const port = request.method === 'POST' ? 'vendor.submit' : 'vendor.query'
    if (!ports.reach(process, port, 'before')) return noAnswer()
    if (time.nowMs < this.downUntilMs) throw new HttpFault('network')
    const { status, body, verdict } = await (request.method === 'POST' ? this.#submit(request) : this.#query(request))
    if (!ports.reach(process, port, 'after')) return noAnswer()
    if (verdict !== undefined) verdict[0].reported.push(verdict[1])
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      yield bytes
    }
    const headers = { 'content-type': 'application/json' }
    return { status, headers, body: pieces(), takeArrived: () => [], discard: () => undefined }
  }

  async #submit(request: HttpRequest): Promise<Reply> {
    const { prompt, external_task_id: taskId } = JSON.parse(String(request.body)) as SubmitBody
    const number = Number(/#(\d+)/.exec(prompt)?.[1])
    const tried = this.#submits.get(number) ?? 0
    this.#submits.set(number, tried + 1)
    const mode = this.#parts.isDraining() ? 'accepts' : (this.#parts.actionOf(number)?.submits[tried] ?? 'accepts')
    const { time, violate } = this.#parts
    const submittedMs = time.nowMs
    await waitForAnswer(time, request, 10 + this.#parts.random() * 150)
    if (mode === 'is_busy') return { status: 429, body: envelope(1303, 'too many tasks') }
    // Another process cannot know of it where the nats-server has lost the lease: the vendor refuses it then.
    const process = currentProcess()
    if (process !== undefined && this.#doubts.get(taskId)?.process === process)
      violate(`${taskId} is submitted again, and was not looked up`)
    this.#doubts.set(taskId, { process, atMs: time.nowMs })
    return this.#answerSubmit(request, mode, { taskId, number, submittedMs })
  }

  async #answerSubmit(request: HttpRequest, mode: SubmitMode, submit: Submit): Promise<Reply> {
    const { taskId } = submit
    if (mode === 'never_arrives') throw new HttpFault('network')
    // That it has the task already is not always what it names.
    const taken = this.#parts.random() < 0.5 ? 'external_task_id exists' : 'invalid parameter'
    if (this.tasks.has(taskId)) {
      this.#doubts.delete(taskId)
      this.#denied.add(taskId)
      return { status: 400, body: envelope(1201, taken) }
    }
    // What it takes it does not refuse meanwhile: which of the two counts could not be known.
    if (mode === 'refuses' && !this.#pending.has(taskId)) {
      this.#doubts.delete(taskId)
      return { status: 400, body: envelope(1301, 'the prompt is refused') }
    }
    const { time, random } = this.#parts
    if (mode === 'accepts_late') {
      // The vendor works on, also when its caller has given up.
      this.#pending.add(taskId)
      time.scheduleFor(undefined, random() * 2_500, () => this.#make(submit))
      await waitForAnswer(this.#parts.time, request, 2_600)
      return this.#accepted(this.tasks.get(taskId)!)
    }
    const task = this.#make(submit)
    if (mode === 'loses_answer') throw new HttpFault('network')
    if (mode === 'fails_after') return { status: 500, body: envelope(5000, 'internal error') }
    return mode === 'names_another' ? this.#accepted({ ...task, taskId: 'another' }) : this.#accepted(task)
  }

  #make({ taskId, number, submittedMs }: Submit): VendorTask {
    const { time, actionOf } = this.#parts
    const present = this.tasks.get(taskId)
    const action = actionOf(number)
    if (present !== undefined || action === undefined) return present!
    const vendorTaskId = `v${this.tasks.size + 1}`
    const endsMs = action.end === 'never' ? Number.POSITIVE_INFINITY : time.nowMs + action.takesMs
    const task = { vendorTaskId, taskId, action, submittedMs, endsMs, reported: [] }
    this.tasks.set(taskId, task)
    this.#byOwnId.set(vendorTaskId, task)
    return task
  }

  #accepted({ vendorTaskId, taskId }: Pick<VendorTask, 'vendorTaskId' | 'taskId'>): Reply {
    const data = { task_id: vendorTaskId, task_status: 'submitted', task_info: { external_task_id: taskId } }
    return { status: 200, body: envelope(0, 'SUCCEED', data) }
  }

  async #query(request: HttpRequest): Promise<Reply> {
    const { random, isDraining } = this.#parts
    await waitForAnswer(this.#parts.time, request, 5 + random() * 60)
    const luck = isDraining() ? 1 : random()
    if (luck < 0.02) throw new HttpFault('network')
    if (luck < 0.03) await waitForAnswer(this.#parts.time, request, 60_000)
    if (luck < 0.05) return { status: 500, body: envelope(5000, 'internal error') }
    if (luck < 0.07) return { status: 429, body: envelope(1302, 'too many requests') }
    if (luck < 0.08) return { status: 200, body: '<html>' }
    const id = decodeURIComponent(new URL(request.url).pathname.split('/').at(-1) ?? '')
    this.#noteLookUp(id)
    const task = this.tasks.get(id) ?? this.#byOwnId.get(id)
    if (task === undefined || (luck < 0.12 && this.#isFirstDenial(task)))
      return { status: 404, body: envelope(1203, 'task not found') }
    return this.#show(luck < 0.14 ? (this.#byOwnId.values().next().value ?? task) : task)
  }

  /** What it denies twice, or after it refused it, cannot be known. */
  #isFirstDenial({ taskId }: VendorTask): boolean {
    const isFirst = !this.#denied.has(taskId)
    this.#denied.add(taskId)
    return isFirst
  }

  #noteLookUp(taskId: string): void {
    const lookUps = this.#lookUps.get(taskId) ?? new Map<string | undefined, number>()
    this.#lookUps.set(taskId, lookUps.set(currentProcess()?.name, this.#parts.time.nowMs))
    const doubt = this.#doubts.get(taskId)
    this.#doubts.delete(taskId)
    if (doubt?.process === currentProcess() && this.#parts.time.nowMs - (doubt?.atMs ?? 0) < lookUpAfterMs)
      this.#parts.violate(`${taskId} is looked up while its submit may still be on its way`)
  }

  #show(task: VendorTask): Reply {
    const { vendorTaskId, taskId, endsMs } = task
    const data = { task_id: vendorTaskId, task_info: { external_task_id: taskId } }
    if (this.#parts.time.nowMs < endsMs)
      return { status: 200, body: envelope(0, 'SUCCEED', { ...data, task_status: 'processing' }) }
    const verdict = this.verdictOf(task)
    const { outcome, deduction } = verdict
    const ended = {
      ...data,
      task_status: outcome === 'SUCCESS' ? 'succeed' : 'failed',
      task_status_msg: outcome === 'SUCCESS' ? '' : 'it failed',
      ...(deduction === null ? {} : { final_unit_deduction: deduction }),
      task_result: { videos: [{ id: 'x', url: `https://vendor.example/${vendorTaskId}.mp4`, duration: '5' }] },
    }
    return { status: 200, body: envelope(0, 'SUCCEED', ended), verdict: [task, verdict] }
  }
}
