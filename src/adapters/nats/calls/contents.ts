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
import { takeSteps } from '../../../encoding/steps.ts'
import { jsonPieces } from '../../../encoding/write-json.ts'
import { type ErrorCode, type ErrorDetails, GatewayError } from '../../../errors/gateway-error.ts'
import { errorStatusOf, isErrorCode } from '../../../http/error-table.ts'
import { type AnswerPart, type RoutedRequest, withBody } from '../../../roles/dispatch.ts'
import { Collectable } from '../../../runtime/collectable.ts'
import { runWhereLarge } from '../../../runtime/large-steps.ts'
import { sharedLimits } from '../../../runtime/limits.ts'

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

function* encodeInSteps(call: RoutedRequest, nowMs: () => number): Generator<void, Buffer> {
  const body = call.bodySteps === undefined ? call.body : yield* call.bodySteps()
  const { body: _written, ...rest } = call // Before a rest, after which reading the body could parse it again, whole.
  const pieces: Buffer[] = []
  for (const piece of jsonPieces(body)) {
    yield
    pieces.push(Buffer.from(piece))
  }
  yield
  const head = JSON.stringify({ ...rest, deadlineMs: call.deadlineMs - nowMs() })
  return Buffer.concat([Buffer.from(`${head.slice(0, -1)},"body":`), ...pieces, Buffer.from('}')])
}

export const encodeLargeCall = (call: RoutedRequest, nowMs: () => number): Promise<Buffer> => {
  const { workspaceId, bodyBytes: bytes = 0 } = call
  return takeSteps(encodeInSteps(call, nowMs), (step) => runWhereLarge({ workspaceId, bytes }, step))
}

const isCall = (value: unknown): value is RoutedRequest =>
  isObject(value) &&
  typeof value['requestId'] === 'string' &&
  Number.isFinite(value['deadlineMs']) &&
  isObject(value['body']) &&
  Array.isArray(value['candidates'])

type ReadJson = (text: string) => unknown

const toCall = (value: unknown, payload: Uint8Array, read: ReadJson, nowMs: number): RoutedRequest => {
  if (!isCall(value)) throw new Error('what came is no routed call')
  const body = new Collectable(() => bodySteps(payload, read), payload.length, value.body)
  return withBody({ ...value, deadlineMs: value.deadlineMs + nowMs }, body)
}

function* decodeInSteps(payload: Uint8Array, nowMs: number): Generator<void, RoutedRequest> {
  const bytes = asBuffer(payload)
  const read = exactParserOf(bytes.toString('latin1'))
  yield
  return toCall(yield* readJsonInSteps(bytes, { read }), payload, read, nowMs)
}

const workspaceMember = /"workspaceId":"([\w-]+)"/
const startBytes = 512

/** A large one in steps, in turn with those of its workspace where its first members have it. */
export const decodeCall = (payload: Uint8Array, nowMs: number): RoutedRequest | Promise<RoutedRequest> => {
  const { length: bytes } = payload
  if (bytes > sharedLimits.turnBytes) {
    const start = asBuffer(payload).toString('latin1', 0, startBytes)
    const workspaceId = workspaceMember.exec(start)?.[1] ?? ''
    return takeSteps(decodeInSteps(payload, nowMs), (step) => runWhereLarge({ workspaceId, bytes }, step))
  }
  const text = asBuffer(payload).toString()
  return toCall(parseExactJson(text), payload, exactParserOf(text), nowMs)
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
    message,
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
