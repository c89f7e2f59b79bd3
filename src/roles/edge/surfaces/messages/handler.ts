import type { IncomingHttpHeaders } from 'node:http'
import { isObject, type JsonObject } from '../../../../encoding/json.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { type HttpMiddleware, jsonOfContext, keyOfContext } from '../../../../http/context.ts'
import { messagesErrorBody } from '../../../../http/errors.ts'
import { refuseThread } from '../../../../providers/anthropic/references.ts'
import type { StreamFormat } from '../inference/send-answer.ts'
import {
  requestedAnswer,
  requestReader,
  routingRequestOf,
  type SurfaceParts,
  serveQuestion,
  serveRequest,
  withoutRouting,
} from '../inference/serve-request.ts'
import type { MessagesRequest } from './request.types.ts'
import { boundMessagesUsage } from './usage-bounds.ts'

const versionPattern = /^\d{4}-\d{2}-\d{2}$/

/** The neutral header counts where that of the official SDKs is absent. */
const versionHeaders = ['anthropic-version', 'api-version'] as const

const versionHeaderIn = (headers: IncomingHttpHeaders): (typeof versionHeaders)[number] | undefined =>
  versionHeaders.find((name) => headers[name] !== undefined)

const versionOf = (headers: IncomingHttpHeaders): string | undefined => {
  const name = versionHeaderIn(headers)
  return name === undefined ? undefined : headers[name]?.toString()
}

const wrongVersion = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })

/** Throws `invalid_request` where no header names the version of the format. */
export const requireVersion = (): HttpMiddleware => (ctx, next) => {
  const { headers } = ctx.req
  const name = versionHeaderIn(headers)
  if (name === undefined)
    throw wrongVersion(
      'api-version',
      'The header `api-version` (or `anthropic-version`) is required, such as `2023-06-01`.',
    )
  if (!versionPattern.test(headers[name]?.toString() ?? ''))
    throw wrongVersion(name, `The version in the header \`${name}\` must be a date, such as \`2023-06-01\`.`)
  return next()
}

/** The caller's headers that an upstream of the same format receives. */
const headersToForward = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> => {
  const version = versionOf(headers)
  const beta = headers['anthropic-beta']?.toString()
  return {
    ...(version === undefined ? {} : { 'anthropic-version': version }),
    ...(beta === undefined ? {} : { 'anthropic-beta': beta }),
  }
}

const ping = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

const messagesStreamFormat = (requestId: string): StreamFormat => ({
  keepAlive: ping,
  errorEvent: (error) => Buffer.from(`event: error\ndata: ${JSON.stringify(messagesErrorBody(error, requestId))}\n\n`),
})

const read = requestReader<MessagesRequest>('requests/messages-request.v1.json')

/** A thread is refused here, since no model of the surface supports one. */
export const readMessagesRequest = (value: unknown): MessagesRequest => {
  const request = read(value)
  refuseThread(request)
  return request
}

/** A request to count tokens has no `max_tokens`. */
const readCountRequest = (value: unknown): MessagesRequest =>
  readMessagesRequest(isObject(value) ? { ...value, max_tokens: 1 } : value)

const countedBody = (request: MessagesRequest): JsonObject => {
  const { max_tokens: _ofAnswer, stream: _howAnswered, ...body } = withoutRouting(request)
  return body
}

export const createMessage =
  (parts: SurfaceParts): HttpMiddleware =>
  (ctx) => {
    const { value, bytesLength } = jsonOfContext(ctx)
    const request = readMessagesRequest(value)
    return serveRequest(ctx, parts, {
      surface: 'messages',
      ...requestedAnswer(ctx, request, readMessagesRequest),
      price: () => ({
        plan: parts.inference.plan(routingRequestOf(request), keyOfContext(ctx)),
        demand: boundMessagesUsage(request, bytesLength),
      }),
      headers: headersToForward(ctx.req.headers),
      streamFormat: messagesStreamFormat(ctx.state.requestId),
    })
  }

export const serveTokenCount =
  (parts: SurfaceParts): HttpMiddleware =>
  async (ctx) => {
    const request = readCountRequest(jsonOfContext(ctx).value)
    const [candidate] = parts.inference.plan(routingRequestOf(request), keyOfContext(ctx)).candidates
    if (candidate === undefined) throw new Error('a plan has a candidate')
    await serveQuestion(ctx, parts, {
      surface: 'messages',
      body: countedBody(request),
      bodyBytes: jsonOfContext(ctx).bytesLength,
      question: { type: 'count_tokens' },
      candidate,
      headers: headersToForward(ctx.req.headers),
    })
  }
