import type { IncomingMessage, ServerResponse } from 'node:http'
import { asObject, asText, isObject, type JsonObject, parseJson } from '../../src/encoding/json.ts'
import { noDirectives } from '../answers/directives.ts'
import type { CallRecord } from '../http/calls.ts'
import { type Handler, readBody, type SandboxParts } from '../http/exchange.ts'
import {
  faultAnswer,
  listAnswer,
  type Moment,
  madeAnswer,
  refusalAnswer,
  taskAnswer,
  type VideoAnswer,
} from './answers.ts'
import { checkAuthorization, sandboxVideoKey } from './authorization.ts'
import { checkVideo } from './check.ts'
import { sendPlainly, sendShaped } from './delivery.ts'
import {
  FaultQueue,
  promptsOf,
  readVideoDirectives,
  replacesAnswer,
  type VideoDirectives,
  type VideoFault,
} from './directives.ts'
import { secondsOf, unitsOf } from './rates.ts'
import { findVideoFault, Pace, type VideoRecord, VideoRecords, type VideoTask } from './records.ts'
import { asVendorRefusal, badParameter, VendorRefusal } from './refusing.ts'

const usualQueueMs = 300
const usualRunMs = 2_000
const pageSizeDefault = 30

const kindIn = '(text2video|image2video|omni-video)'
export const kindPath = new RegExp(`^/v1/videos/${kindIn}$`)
export const taskPath = new RegExp(`^/v1/videos/${kindIn}/([^/]+)$`)

interface Arrived {
  readonly url: string
  readonly text: string
  readonly moment: Moment
  readonly call: CallRecord
}

/** The answer to a call, and the fault applied to it. */
interface Outcome {
  readonly answer: VideoAnswer
  readonly fault: VideoFault | null
}

const bodyOf = (text: string): JsonObject => {
  const body = parseJson(text)
  if (!isObject(body)) throw new VendorRefusal(1200, 'Request body is not JSON')
  return body
}

const taken = (externalId: string): VendorRefusal => badParameter(`external_task_id ${externalId} already exists`)

const timesOf = ({ queue_ms, run_ms, never }: VideoDirectives['course'], madeMs: number) => {
  const startsMs = madeMs + (queue_ms ?? usualQueueMs)
  return { startsMs, endsMs: never ? Number.POSITIVE_INFINITY : startsMs + (run_ms ?? usualRunMs) }
}

const pageOf = (url: string, name: string, otherwise: number, most: number): number => {
  const text = new URL(url, 'http://sandbox').searchParams.get(name)
  const value = text === null ? otherwise : Number(text)
  if (!Number.isInteger(value) || value < 1 || value > most) throw badParameter(`${name} must be from 1 to ${most}`)
  return value
}

/** The video vendor of the demo and the tests: accepts tasks, runs them by the clock, and reports their status. */
export class VideoVendorSandbox {
  readonly #parts: SandboxParts
  readonly records = new VideoRecords()
  readonly pace = new Pace()
  #lastId = 0
  #everywhere: VideoDirectives = { course: {}, faults: [] }
  #faultsEverywhere = new FaultQueue([])

  constructor(parts: SandboxParts) {
    this.#parts = parts
  }

  readonly submit: Handler = (request, response) => this.#serve(request, response, (arrived) => this.#submit(arrived))
  readonly query: Handler = (request, response) => this.#serve(request, response, (arrived) => this.#query(arrived))
  readonly list: Handler = (request, response) => this.#serve(request, response, (arrived) => this.#list(arrived))

  /** Replaces the directives beneath those of every later task, and faults before theirs. Throws Refusal. */
  direct(text: string): void {
    this.#everywhere = readVideoDirectives(text)
    this.#faultsEverywhere = new FaultQueue(this.#everywhere.faults)
  }

  /** Ends a task now, as its directives and these define; false where there is none. Throws Refusal. */
  end(id: string, text: string): boolean {
    const task = this.records.task(id)
    const { course } = readVideoDirectives(text)
    if (task === undefined) return false
    const nowMs = this.#parts.clock()
    task.course = { ...task.course, ...course }
    task.startsMs = Math.min(task.startsMs, nowMs)
    task.endsMs = nowMs
    return true
  }

  reset(): void {
    this.records.reset()
    this.pace.reset()
    this.direct('')
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    answer: (arrived: Arrived) => Outcome,
  ): Promise<void> {
    const { clock, calls, newId } = this.#parts
    const received = await readBody(request)
    const nowMs = clock()
    const text = typeof received === 'string' ? '' : received.text
    const call = calls.open(request, text, nowMs)
    if (received === 'gone') return call.end('cancelled')
    this.pace.note(nowMs)
    const moment = { requestId: newId(), nowMs, host: request.headers.host ?? '' }
    const tried = (): Outcome => {
      if (received === 'too_large') throw new VendorRefusal(1200, 'Request body is too large', 413)
      checkAuthorization(request.headers, nowMs)
      return answer({ url: request.url ?? '/', text, moment, call })
    }
    const { answer: reply, fault } = this.#orRefusal(tried, moment)
    if (fault === null) sendPlainly(response, reply, call)
    else await sendShaped(response, reply, fault, call)
  }

  #orRefusal(tried: () => Outcome, moment: Moment): Outcome {
    try {
      return tried()
    } catch (error) {
      return { answer: refusalAnswer(moment, asVendorRefusal(error)), fault: null }
    }
  }

  #befallen(fault: VideoFault, moment: Moment): Outcome {
    return { answer: faultAnswer(fault, moment, { key: sandboxVideoKey, host: moment.host }), fault }
  }

  #submit({ url, text, moment, call }: Arrived): Outcome {
    const [, kind = ''] = kindPath.exec(url.split('?')[0] ?? '') ?? []
    const body = bodyOf(text)
    const directives = readVideoDirectives(promptsOf(body))
    const record = this.records.ofSubmit(asText(body['external_task_id']) || null, directives)
    this.#count(record, body)
    call.asks(asText(body['model_name']), noDirectives)
    const fault = findVideoFault(this.#faultsEverywhere, record, 'submit')
    if (fault !== null && replacesAnswer(fault) && !fault.done) return this.#befallen(fault, moment)
    const task = this.#make(record, kind, body, directives, moment.nowMs)
    if (fault !== null && replacesAnswer(fault)) return this.#befallen(fault, moment)
    return { answer: madeAnswer(task, moment, fault), fault }
  }

  #count(record: VideoRecord, body: JsonObject): void {
    record.submits += 1
    this.records.counts.submits += 1
    if (body['callback_url'] !== undefined) this.records.counts.callbacksAsked += 1
  }

  #make(record: VideoRecord, kind: string, body: JsonObject, directives: VideoDirectives, madeMs: number): VideoTask {
    const course = { ...this.#everywhere.course, ...directives.course }
    checkVideo(kind, body)
    const { externalId, tasks } = record
    if (externalId !== null && tasks.length > 0 && !course.not_unique) throw taken(externalId)
    this.#lastId += 1
    const task: VideoTask = {
      id: `${madeMs}${String(this.#lastId).padStart(6, '0')}`,
      kind,
      externalId,
      model: asText(body['model_name']),
      madeMs,
      watermark: asObject(body['watermark_info'])['enabled'] === true,
      seconds: secondsOf(body, course),
      units: unitsOf(kind, body, course),
      ...timesOf(course, madeMs),
      course,
      queries: 0,
    }
    this.records.add(record, task)
    return task
  }

  #query({ url, moment }: Arrived): Outcome {
    const [, kind = '', id = ''] = taskPath.exec(url.split('?')[0] ?? '') ?? []
    const asked = decodeURIComponent(id)
    const record = this.records.find(asked)
    this.records.counts.queries += 1
    if (record !== undefined) record.queries += 1
    const fault = findVideoFault(this.#faultsEverywhere, record, 'query')
    if (fault !== null && replacesAnswer(fault)) return this.#befallen(fault, moment)
    const task = this.records.task(asked)
    if (task === undefined || task.kind !== kind) throw new VendorRefusal(1203, `Task not found: ${asked}`)
    task.queries += 1
    return { answer: taskAnswer(task, moment, fault), fault }
  }

  #list({ url, moment }: Arrived): Outcome {
    const [, kind = ''] = kindPath.exec(url.split('?')[0] ?? '') ?? []
    const size = pageOf(url, 'pageSize', pageSizeDefault, 500)
    const from = (pageOf(url, 'pageNum', 1, 1_000) - 1) * size
    const tasks = this.records.tasks().filter((task) => task.kind === kind)
    this.records.counts.lists += 1
    return { answer: listAnswer(tasks.toReversed().slice(from, from + size), moment), fault: null }
  }
}
