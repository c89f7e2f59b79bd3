import type { JsonObject } from '../../src/encoding/json.ts'
import { type Secrets, sandboxOrganisation } from '../answers/faults.ts'
import { htmlPage, jsonType } from '../http/dialect.ts'
import type { VideoFault } from './directives.ts'
import { signedFileUrl } from './files.ts'
import type { VideoTask } from './records.ts'
import { codeOf, statusOf, type VendorRefusal } from './refusing.ts'

export interface VideoAnswer {
  readonly status: number
  readonly contentType: string
  readonly text: string
  readonly retryAfter?: string | undefined
}

export interface Moment {
  readonly requestId: string
  readonly nowMs: number
  /** Host and port under which the caller reached us. */
  readonly host: string
}

const json = (status: number, value: unknown): VideoAnswer => ({
  status,
  contentType: jsonType,
  text: JSON.stringify(value),
})

/** A placeholder for a JSON number which JavaScript would write otherwise. */
const numberAs = (text: string): string => `\u0000${text}\u0000`
const withNumbers = (text: string): string => text.replaceAll(/"\\u0000([^"\\]*)\\u0000"/g, '$1')

export const envelope = ({ requestId }: Moment, data: unknown): VideoAnswer => {
  const answer = json(200, { code: 0, message: 'SUCCEED', request_id: requestId, data })
  return { ...answer, text: withNumbers(answer.text) }
}

export const refusalAnswer = ({ requestId }: Moment, refusal: VendorRefusal): VideoAnswer => ({
  ...json(refusal.status, { code: refusal.code, message: refusal.message, request_id: requestId }),
  retryAfter: refusal.retryAfter,
})

type Word = 'submitted' | 'processing' | 'succeed' | 'failed'

/** The vendor's status of the task, before any directive changes it. */
export const stateOf = ({ startsMs, endsMs, course }: VideoTask, nowMs: number): Word => {
  if (nowMs < startsMs) return 'submitted'
  if (nowMs < endsMs) return 'processing'
  return course.failed ? 'failed' : 'succeed'
}

const wordOf = ({ course, queries }: VideoTask, state: Word): string => {
  if (state === 'succeed' && course.succeeded) return 'succeeded'
  if (state !== 'processing') return state
  if (course.backwards && queries % 2 === 0) return 'submitted'
  return course.state ?? state
}

const deductionOf = ({ course, units }: VideoTask): JsonObject => {
  if (course.no_deduction) return {}
  if (course.deduction_number !== undefined) return { final_unit_deduction: numberAs(course.deduction_number) }
  return { final_unit_deduction: course.deduction ?? (course.failed ? '0' : units) }
}

const videoOf = (task: VideoTask, index: number, moment: Moment): JsonObject => ({
  id: `${task.id}${index}`,
  url: signedFileUrl(task, `${index}`, moment),
  ...(task.watermark ? { watermark_url: signedFileUrl(task, `${index}w`, moment) } : {}),
  duration: `${task.seconds}.1`,
})

const videosOf = (task: VideoTask, moment: Moment): readonly JsonObject[] =>
  Array.from({ length: task.course.videos ?? 1 }, (_, index) => videoOf(task, index + 1, moment))

const endOf = (task: VideoTask, state: Word, moment: Moment): JsonObject => {
  if (state === 'failed') return { ...deductionOf(task), task_result: { videos: [] } }
  if (state === 'succeed') return { ...deductionOf(task), task_result: { videos: videosOf(task, moment) } }
  return {}
}

const messageOf = ({ course }: VideoTask, state: Word): string =>
  state === 'failed' ? (course.fail_message ?? 'The sandbox was directed to fail.') : ''

const updatedMs = ({ madeMs, startsMs, endsMs }: VideoTask, state: Word): number => {
  if (state === 'submitted') return madeMs
  return state === 'processing' ? startsMs : endsMs
}

/** The task in the `data` member; `idOf` replaces its ids. */
const dataOf = (task: VideoTask, moment: Moment, idOf: (id: string) => string): JsonObject => {
  const state = stateOf(task, moment.nowMs)
  return {
    task_id: idOf(task.id),
    task_status: wordOf(task, state),
    task_status_msg: messageOf(task, state),
    task_info: task.externalId === null ? {} : { external_task_id: idOf(task.externalId) },
    watermark_info: { enabled: task.watermark },
    created_at: task.madeMs,
    updated_at: updatedMs(task, state),
    ...endOf(task, state, moment),
  }
}

const reversed = (id: string): string => [...id].toReversed().join('')
const same = (id: string): string => id

export const madeAnswer = (task: VideoTask, moment: Moment, fault: VideoFault | null): VideoAnswer => {
  const idOf = fault?.other_task ? reversed : same
  const { task_id, task_info, created_at } = dataOf(task, { ...moment, nowMs: task.madeMs }, idOf)
  return envelope(moment, { task_id, task_status: 'submitted', task_info, created_at, updated_at: created_at })
}

export const taskAnswer = (task: VideoTask, moment: Moment, fault: VideoFault | null): VideoAnswer =>
  envelope(moment, dataOf(task, moment, fault?.other_task ? reversed : same))

export const listAnswer = (tasks: readonly VideoTask[], moment: Moment): VideoAnswer =>
  envelope(
    moment,
    tasks.map((task) => dataOf(task, moment, same)),
  )

const faultText = ({ message, leak, status, code }: VideoFault, secrets: Secrets): string => {
  const failureText = message ?? `The sandbox was directed to fail with ${code ?? status}.`
  if (leak === undefined) return failureText
  return `${failureText} ${leak}: API key ${secrets.key}, organization ${sandboxOrganisation}, host ${secrets.host}.`
}

export const faultAnswer = (fault: VideoFault, moment: Moment, secrets: Secrets): VideoAnswer => {
  const status = fault.status ?? (fault.code === undefined ? 200 : statusOf(fault.code))
  if (fault.html) return { status, contentType: 'text/html; charset=utf-8', text: htmlPage }
  if (fault.not_json) return { status, contentType: jsonType, text: '{"code": 0, this is not JSON' }
  if (status === 200) return envelope(moment, null)
  const code = fault.code ?? codeOf(status)
  const body = { code, message: faultText(fault, secrets), request_id: moment.requestId }
  return { ...json(status, body), retryAfter: fault.retry_after }
}
