import type { TaskPayload, VideoKind } from '../../domain/video/request.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { scrub } from '../dialect/scrub.ts'
import type { HttpClient } from '../http.ts'
import { type Authorization, authorizationOf } from './authorization.ts'
import { classifyError, type VendorErrorClass } from './classify-error.ts'
import { vendorLimits } from './limits.ts'
import { type ExpectedTask, parseTask, readTaskId, type VendorIds } from './parse-task.ts'
import { callVendor, type VendorReply } from './reply.ts'
import type {
  SubmittedTask,
  VendorCredential,
  VendorFailure,
  VendorStatus,
  VideoVendor,
  VideoVendorConfig,
} from './vendor.ts'

interface VideoVendorParts {
  readonly config: VideoVendorConfig
  readonly http: HttpClient
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** Time-outs of a submit and a query; the defaults are in limits.ts. */
  readonly submitMs?: number
  readonly queryMs?: number
}

/** Members that only the gateway sets, never the caller. */
const ownMembers: readonly string[] = ['model_name', 'model', 'external_task_id', 'callback_url']

const bodyOf = ({ body, upstreamModel, taskId }: TaskPayload): string => {
  const members = Object.entries(body).filter(([name]) => !ownMembers.includes(name))
  return JSON.stringify({ model_name: upstreamModel, ...Object.fromEntries(members), external_task_id: taskId })
}

const cleanerOf = (baseUrl: string, authorization: Authorization): VendorIds => {
  const { host, hostname } = new URL(baseUrl)
  return (message, ids) =>
    scrub(message, [...ids, ...authorization.secrets(), baseUrl, host, hostname])
      .slice(0, sharedLimits.upstreamMessageCharactersMax)
      .toWellFormed()
      .trim()
}

const unknown = (reason: string): VendorFailure => ({ type: 'unknown', reason })

const busy = ({ retryAfterMs }: VendorReply, scope: 'account' | 'task', reason: string): VendorFailure => ({
  type: 'busy',
  scope,
  retryAfterMs,
  reason,
})

/** The vendor has a task with our id already: made by a submit whose answer was lost, not an error of the request. */
const namesExternalId = (message: string): boolean => /external[\s_-]*(?:task[\s_-]*)?id/i.test(message)

const refusal = ({ envelope }: VendorReply, reason: string, clean: VendorIds): SubmittedTask => {
  const message = envelope?.message ?? ''
  if (namesExternalId(message)) return unknown(`external_id_taken ${reason}`)
  return {
    type: 'refused',
    message: clean(message, [envelope?.requestId ?? '']) || 'The video vendor refused the request.',
    code: envelope?.code ?? null,
  }
}

const accepted = ({ envelope }: VendorReply, expected: ExpectedTask): SubmittedTask => {
  const read = readTaskId(envelope?.data, expected)
  return read.type === 'ours' ? { type: 'accepted', vendorTaskId: read.vendorTaskId } : read
}

const readSubmitted = (reply: VendorReply, taskId: string, clean: VendorIds): SubmittedTask => {
  const { meaning, reason } = classifyError(reply)
  switch (meaning) {
    case 'done':
      return accepted(reply, { taskId })
    case 'busy':
      return busy(reply, 'account', reason)
    case 'put_off':
      return busy(reply, 'task', reason)
    case 'refused':
    case 'absent':
      return refusal(reply, reason, clean)
    case 'failed':
    case 'unclear':
      return unknown(reason)
  }
}

const describesAbsence = (message: string): boolean => /\bnot[\s_-]*(?:be[\s_-]*)?(?:found|exists?)\b/i.test(message)

/** Some vendors report an unknown id as an invalid parameter. */
const isAbsent = (meaning: VendorErrorClass, { envelope }: VendorReply): boolean =>
  meaning === 'absent' || (meaning === 'refused' && describesAbsence(envelope?.message ?? ''))

const readAnswer = (reply: VendorReply, expected: ExpectedTask, clean: VendorIds): VendorStatus => {
  const { meaning, reason } = classifyError(reply)
  if (meaning === 'done' && reply.envelope !== null) return parseTask(reply.envelope, expected, clean)
  if (isAbsent(meaning, reply)) return { type: 'not_found' }
  if (meaning === 'busy') return busy(reply, 'account', reason)
  return meaning === 'put_off' || meaning === 'failed' ? busy(reply, 'task', reason) : unknown(reason)
}

interface OpenedVendor extends VideoVendor {
  readonly callsPerSecond: number
  useCredential(credential: VendorCredential): void
}

/** Makes no call yet. Every call ends within its time-out. */
export const openVideoVendor = ({
  config,
  http,
  clock,
  submitMs = vendorLimits.videoSubmitMs,
  queryMs = vendorLimits.videoQueryMs,
}: VideoVendorParts): OpenedVendor => {
  const { credential, callsPerSecond } = config
  const baseUrl = config.baseUrl.replace(/\/+$/, '')
  const authorization = authorizationOf(credential, clock)
  const clean = cleanerOf(baseUrl, authorization)
  const headers = (): Readonly<Record<string, string>> => ({
    authorization: `Bearer ${authorization.token()}`,
    accept: 'application/json',
  })
  const observed = (reply: VendorReply): VendorReply => {
    if (reply.status === 401) authorization.forget()
    return reply
  }
  const ask = async (
    kind: VideoKind,
    id: string,
    expected: ExpectedTask,
    signal: AbortSignal,
  ): Promise<VendorStatus> => {
    const url = `${baseUrl}/videos/${kind}/${encodeURIComponent(id)}`
    const call = { url, method: 'GET', headers: headers(), timeoutMs: queryMs } as const
    const reply = observed(await callVendor(http, clock, call, signal))
    return readAnswer(reply, expected, clean)
  }
  return {
    callsPerSecond,
    useCredential: (next) => authorization.replace(next),
    submit: async (payload, signal) => {
      const call = {
        url: `${baseUrl}/videos/${payload.kind}`,
        method: 'POST',
        headers: { ...headers(), 'content-type': 'application/json' },
        body: bodyOf(payload),
        timeoutMs: submitMs,
      } as const
      const reply = observed(await callVendor(http, clock, call, signal))
      return readSubmitted(reply, payload.taskId, clean)
    },
    query: (kind, vendorTaskId, signal) => ask(kind, vendorTaskId, { vendorTaskId }, signal),
    find: (kind, taskId, signal) => ask(kind, taskId, { taskId }, signal),
  }
}
