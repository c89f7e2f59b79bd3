import {
  asArray,
  asObject,
  asText,
  exactParserOf,
  isObject,
  type JsonObject,
  parseExactJson,
} from '../../../encoding/json.ts'
import { readJsonInSteps } from '../../../encoding/read-json.ts'
import { type ErrorCode, type ErrorDetails, GatewayError } from '../../../errors/gateway-error.ts'
import { errorStatusOf, isErrorCode } from '../../../http/error-table.ts'
import type { AnswerPart, RoutedRequest } from '../../../roles/dispatch.ts'
import { Collectable } from '../../../runtime/collectable.ts'
import { natsLimits } from '../limits.ts'

type AnswerHead = Extract<AnswerPart, { type: 'head' }>

const encodeJson = (value: object): Buffer => Buffer.from(JSON.stringify(value))

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

const decodeJson = (payload: Uint8Array): unknown => parseExactJson(asBuffer(payload).toString())

function* bodySteps(payload: Uint8Array, read: (text: string) => unknown): Generator<void, JsonObject> {
  return asObject(asObject(yield* readJsonInSteps(asBuffer(payload), { read }))['body'])
}

/** Sends the time left until the deadline instead of its instant, since machines' clocks differ. */
export const encodeCall = (call: RoutedRequest, nowMs: number): Buffer =>
  encodeJson({ ...call, deadlineMs: call.deadlineMs - nowMs })

const isCall = (value: unknown): value is RoutedRequest =>
  isObject(value) &&
  typeof value['requestId'] === 'string' &&
  Number.isFinite(value['deadlineMs']) &&
  isObject(value['body']) &&
  Array.isArray(value['candidates'])

export const decodeCall = (payload: Uint8Array, nowMs: number): RoutedRequest => {
  const text = asBuffer(payload).toString()
  const call = parseExactJson(text)
  if (!isCall(call)) throw new Error('what came is no routed call')
  const read = exactParserOf(text)
  const body = new Collectable(() => bodySteps(payload, read), payload.length, call.body)
  return {
    ...call,
    get body() {
      return body.value
    },
    bodySteps: () => body.steps(),
    deadlineMs: call.deadlineMs + nowMs,
  }
}

export const encodeHead = ({ type: _head, ...head }: AnswerHead): Buffer => encodeJson(head)

export const decodeHead = (payload: Uint8Array): AnswerHead => {
  const { contentType, level, model, droppedTools } = asObject(decodeJson(payload))
  if (typeof contentType !== 'string' || typeof level !== 'number' || typeof model !== 'string')
    throw new Error('what came is no head of an answer')
  const dropped = asArray(droppedTools).map(asText)
  return { type: 'head', contentType, level, model, ...(dropped.length === 0 ? {} : { droppedTools: dropped }) }
}

/** Without the cause, which is logged only by the process in which it occurred. */
export const encodeFault = (fault: GatewayError): Buffer => {
  const { code, message, param, retryAfterSeconds, failedAt, details, failedResponse } = fault
  return encodeJson({
    code,
    message: message.slice(0, natsLimits.callsFaultCharactersMax), // It may quote the caller, and is one packet.
    param,
    status: errorStatusOf(fault),
    retryAfterSeconds,
    failedAt,
    details,
    failedResponse,
  })
}

const codeOf = (value: unknown): ErrorCode => (isErrorCode(value) ? value : 'internal_error')

const failedAtOf = (value: unknown): Pick<ErrorDetails, 'failedAt'> => {
  const { level, model } = asObject(value)
  return typeof level === 'number' && typeof model === 'string' ? { failedAt: { level, model } } : {}
}

const detailsOf = ({
  param,
  status,
  retryAfterSeconds,
  failedAt,
  details,
  failedResponse,
}: JsonObject): ErrorDetails => ({
  ...(typeof param === 'string' ? { param } : {}),
  ...(typeof status === 'number' ? { status } : {}),
  ...(typeof retryAfterSeconds === 'number' ? { retryAfterSeconds } : {}),
  ...failedAtOf(failedAt),
  ...(isObject(details) ? { details } : {}),
  ...(isObject(failedResponse) ? { failedResponse } : {}),
})

export const decodeFault = (payload: Uint8Array): GatewayError => {
  const fault = asObject(decodeJson(payload))
  return new GatewayError(codeOf(fault['code']), asText(fault['message']), detailsOf(fault))
}
