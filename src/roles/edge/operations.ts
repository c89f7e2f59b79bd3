import { type AdminOperation, changesLog, successStatus } from '../../administration/operation.ts'
import { adminOperations } from '../../administration/operations/table.ts'
import { type VideoKind, videoKinds } from '../../domain/video/request.ts'
import type { JsonObject } from '../../encoding/json.ts'
import { readSchema, schemaExists } from '../../encoding/schema-validation.ts'
import type { ErrorCode } from '../../errors/gateway-error.ts'
import type { Operation, ResponseDescription } from '../../http/operation.ts'
import { openapiDocumentOf } from '../../read-api/openapi/document.ts'
import { describeRoute, type LedgerRoute, ledgerPrefixes, ledgerRoutes } from '../../read-api/routes.ts'
import { geminiPrefixes } from './surfaces/gemini/handler.ts'
import { geminiListParameters } from './surfaces/models/models.ts'
import * as native from './surfaces/native-video/handler.ts'
import * as video from './surfaces/video/handler.ts'

const faults: readonly ErrorCode[] = ['internal_error', 'no_available_channel']
const keyed: readonly ErrorCode[] = ['missing_api_key', 'invalid_api_key', 'access_denied', ...faults]
const administered: readonly ErrorCode[] = [...keyed, 'log_unavailable']
const read: readonly ErrorCode[] = [
  'invalid_request',
  'invalid_json',
  'missing_required_parameter',
  'invalid_value',
  'request_too_large',
  'unsupported_media_type',
]
const limited: readonly ErrorCode[] = [
  'rate_limit_exceeded',
  'concurrency_limit_exceeded',
  'byte_limit_exceeded',
  'log_unavailable',
  'read_models_unavailable',
]
const paid: readonly ErrorCode[] = [
  'insufficient_user_quota',
  'key_spend_limit_reached',
  'model_not_allowed',
  'model_not_found',
  'unsupported_parameter',
  'unsupported_value',
  'invalid_parameter_combination',
  'not_implemented',
]
const repeatable: readonly ErrorCode[] = [
  'idempotency_key_in_use',
  'idempotency_outcome_not_kept',
  'idempotency_key_reused',
  'idempotency_quota_exceeded',
]
const upstream: readonly ErrorCode[] = [
  'context_length_exceeded',
  'content_policy_violation',
  'upstream_error',
  'upstream_timeout',
  'upstream_stream_interrupted',
  'fallback_exhausted',
]
const queried: readonly ErrorCode[] = [...keyed, 'invalid_value', 'unsupported_parameter']
const tabled: readonly ErrorCode[] = [...queried, 'read_models_unavailable']

const shown = (name: string): ResponseDescription => ({ schema: { $ref: `responses/${name}.json` } })

const inference = { security: 'key', passesRefusalsOn: true } as const
const inferred = [...keyed, ...read, ...limited, ...paid, ...upstream]
const versioned = ['anthropic-version', 'anthropic-beta'] as const

const answering: readonly Operation[] = [
  {
    ...inference,
    method: 'post',
    path: '/v1/chat/completions',
    tag: 'chat',
    summary: 'Answer a conversation, in the format of chat completions',
    request: 'requests/chat-completion-request.json',
    headers: ['Idempotency-Key'],
    answers: { 200: { ...shown('chat-completion'), streams: true } },
    refusals: [...inferred, ...repeatable],
  },
  {
    ...inference,
    method: 'post',
    path: '/v1/messages',
    tag: 'messages',
    summary: 'Answer a conversation, in the format of messages',
    request: 'requests/messages-request.v1.json',
    headers: [...versioned, 'Idempotency-Key'],
    answers: { 200: { ...shown('message'), streams: true } },
    refusals: [...inferred, ...repeatable],
  },
  {
    ...inference,
    method: 'post',
    path: '/v1/messages/count_tokens',
    tag: 'messages',
    summary: 'Count the tokens of a request without running it; it costs nothing',
    request: 'requests/count-tokens-request.v1.json',
    headers: versioned,
    answers: { 200: shown('token-count') },
    refusals: inferred,
  },
  {
    ...inference,
    method: 'post',
    path: '/v1/responses',
    tag: 'responses',
    summary: 'Answer a conversation, in the format of responses',
    request: 'requests/responses-request.v1.json',
    headers: ['Idempotency-Key'],
    answers: { 200: { ...shown('response'), streams: true } },
    refusals: [...inferred, ...repeatable],
  },
  {
    ...inference,
    method: 'get',
    path: '/v1/responses/:id',
    tag: 'responses',
    summary: 'A response that the provider stores, for the workspace that made it',
    request: null,
    answers: { 200: shown('response') },
    refusals: [...keyed, ...limited, ...upstream, 'not_found', 'unsupported_parameter', 'not_implemented'],
  },
  {
    ...inference,
    method: 'delete',
    path: '/v1/responses/:id',
    tag: 'responses',
    summary: 'Delete a response that the provider keeps',
    request: null,
    answers: { 200: shown('deleted-response') },
    refusals: [...keyed, ...limited, ...upstream, 'not_found', 'unsupported_parameter', 'not_implemented'],
  },
]

const embedding: Operation = {
  ...inference,
  method: 'post',
  path: '/v1/embeddings',
  tag: 'embeddings',
  summary: 'Embed texts as vectors',
  request: 'requests/embeddings-request.json',
  headers: ['Idempotency-Key'],
  answers: { 200: shown('embeddings') },
  refusals: [...inferred, ...repeatable],
}

const gemini = { ...inference, method: 'post', tag: 'gemini' } as const
const answerFormat = {
  alt: {
    form: '`sse` for events; else a stream is one JSON array',
    schema: { type: 'string', pattern: '^(?:json|sse)?$' },
  },
}

const geminiModels = (prefix: string): readonly Operation[] => [
  {
    ...gemini,
    path: `${prefix}/models/*model\\:generateContent`,
    summary: "Answer a conversation, in Google's format",
    request: 'requests/gemini-request.v1.json',
    query: answerFormat,
    headers: ['Idempotency-Key'],
    answers: { 200: shown('gemini-answer') },
    refusals: [...inferred, ...repeatable],
  },
  {
    ...gemini,
    path: `${prefix}/models/*model\\:streamGenerateContent`,
    summary: "Answer a conversation piece by piece, in Google's format",
    request: 'requests/gemini-request.v1.json',
    query: answerFormat,
    headers: ['Idempotency-Key'],
    answers: { 200: { schema: { type: 'array', items: { $ref: 'responses/gemini-answer.json' } }, streams: true } },
    refusals: [...inferred, ...repeatable],
  },
  {
    ...gemini,
    path: `${prefix}/models/*model\\:countTokens`,
    summary: 'Count the tokens of a request without running it; it costs nothing',
    request: 'requests/gemini-count-request.v1.json',
    answers: { 200: shown('gemini-token-count') },
    refusals: inferred,
  },
]

const submitted: Pick<Operation, 'method' | 'security' | 'tag' | 'headers' | 'refusals'> = {
  method: 'post',
  security: 'key',
  tag: 'videos',
  headers: ['Idempotency-Key'],
  refusals: [...keyed, ...read, ...limited, ...paid, ...repeatable, 'external_task_id_conflict'],
}
const polled: Pick<Operation, 'method' | 'security' | 'tag' | 'request' | 'refusals'> = {
  method: 'get',
  security: 'key',
  tag: 'videos',
  request: null,
  refusals: [...keyed, 'task_not_exist', 'log_unavailable', 'read_models_unavailable'],
}

const prompt = 'A cat crosses a street.'
const image = 'https://images.example/cat.png'
const nativeExamples: { readonly [K in VideoKind]: JsonObject } = {
  text2video: { model_name: 'vv/v3', prompt, mode: 'pro', duration: '5' },
  image2video: { model_name: 'vv/v3', prompt, image, duration: '5' },
  'omni-video': { model_name: 'vv/v3-omni', prompt, image_list: [{ image_url: image }], duration: '5' },
}

const nativeVideos = (kind: VideoKind): readonly Operation[] => [
  {
    ...submitted,
    path: `/vv/v1/videos/${kind}`,
    summary: `Submit a video (${kind}), in the vendor's format`,
    request: 'requests/native-video-request.v1.json',
    example: nativeExamples[kind],
    takesMore:
      '`model` for `model_name`, `mode` in capitals, `duration` as a number, and empty values for absent ones.',
    answers: { 200: shown('native-video-task') },
  },
  {
    ...polled,
    path: `/vv/v1/videos/${kind}`,
    summary: `The workspace's videos (${kind}), newest first`,
    query: native.nativeListParameters,
    answers: { 200: shown('native-video-list') },
    refusals: [...polled.refusals, 'invalid_value'],
  },
  {
    ...polled,
    path: `/vv/v1/videos/${kind}/:id`,
    summary: "A video, by our id or the caller's",
    answers: { 200: shown('native-video-task') },
  },
]

const videos: readonly Operation[] = [
  {
    ...submitted,
    path: '/v1/video/generations',
    summary: 'Submit a video',
    request: 'requests/video-request.v1.json',
    answers: { 200: shown('video-accepted') },
  },
  { ...polled, path: '/v1/video/generations/:id', summary: 'A video', answers: { 200: shown('video-task') } },
  {
    ...submitted,
    path: '/v1/videos',
    summary: "Submit a video, in OpenAI's format",
    request: 'requests/video-request.v1.json',
    takesForm: true,
    answers: { 200: shown('video') },
  },
  { ...polled, path: '/v1/videos/:id', summary: "A video, in OpenAI's format", answers: { 200: shown('video') } },
  {
    ...polled,
    path: '/v1/videos/:id/content',
    summary: "Leads to the vendor's copy of the file",
    query: video.videoListParameters,
    answers: { 302: { schema: null } },
    refusals: [...polled.refusals, 'not_found', 'unsupported_value'],
  },
  ...videoKinds.flatMap(nativeVideos),
]

const plainGet: Pick<Operation, 'method' | 'request'> = { method: 'get', request: null }
const models = { ...plainGet, security: 'optional', tag: 'models' } as const
const reflecting: Pick<Operation, 'headers' | 'showsPosition'> = {
  headers: ['X-Gateway-Ledger-Sequence'],
  showsPosition: true,
}
const billing = { ...plainGet, ...reflecting, security: 'key', tag: 'billing' } as const
const billed = [...keyed, 'invalid_value', 'read_models_unavailable'] as const
const health = { ...plainGet, security: 'optional', tag: 'health' } as const

const others: readonly Operation[] = [
  {
    ...models,
    path: '/v1/models',
    summary: 'The models that can be called; with a key, those that the key may use',
    answers: { 200: shown('model-list') },
    refusals: ['invalid_api_key', 'access_denied', ...faults],
  },
  {
    ...models,
    path: '/v1/models/*id',
    summary: 'One model, with its price',
    answers: { 200: shown('model') },
    refusals: ['invalid_api_key', 'access_denied', 'model_not_found', ...faults],
  },
  {
    ...models,
    path: '/v1beta/models',
    summary: "The models that can be called, in Google's format",
    query: geminiListParameters,
    answers: { 200: shown('gemini-model-list') },
    refusals: ['invalid_api_key', 'access_denied', 'invalid_value', 'unsupported_parameter', ...faults],
  },
  {
    ...models,
    path: '/v1beta/models/*id',
    summary: "One model, in Google's format",
    answers: { 200: shown('gemini-model') },
    refusals: ['invalid_api_key', 'access_denied', 'model_not_found', ...faults],
  },
  ...['/v1/dashboard/billing', '/dashboard/billing'].flatMap((path): readonly Operation[] => [
    {
      ...billing,
      path: `${path}/usage`,
      summary: 'What requests cost so far',
      answers: { 200: shown('billing-usage') },
      refusals: billed,
    },
    {
      ...billing,
      path: `${path}/subscription`,
      summary: 'What may be spent, and the plan',
      answers: { 200: shown('billing-subscription') },
      refusals: billed,
    },
  ]),
  {
    ...health,
    path: '/healthz',
    summary: 'Whether the process serves',
    answers: { 200: shown('health') },
    refusals: faults,
  },
  {
    ...health,
    path: '/readyz',
    summary: 'Whether requests can be recorded',
    answers: { 200: shown('readiness') },
    refusals: [...faults, 'log_unavailable'],
  },
  {
    ...health,
    path: '/openapi.json',
    summary: 'This document',
    answers: { 200: shown('openapi'), 304: { schema: null } },
    refusals: faults,
  },
]

const listOf = /^list of (.+)$/

/** An object of the admin API, as far as a schema file describes it. */
const objectNamed = (name: string): JsonObject => {
  const id = `responses/admin/${name.replaceAll('_', '-')}.json`
  return schemaExists(id)
    ? { $ref: id }
    : { type: 'object', required: ['object'], properties: { object: { const: name } } }
}

const administrationShows = (answer: string): ResponseDescription => {
  const item = listOf.exec(answer)?.[1]
  if (item === undefined) return { schema: objectNamed(answer) }
  const data = { type: 'array', items: objectNamed(item) }
  return {
    schema: {
      type: 'object',
      required: ['object', 'data', 'next_cursor'],
      properties: { object: { const: 'list' }, data, next_cursor: { type: ['string', 'null'] } },
    },
  }
}

const describeAdministration = (operation: AdminOperation): Operation => {
  const { http, summary, request, answer, permission, memberPermissions, query = {} } = operation
  const { method, path } = http
  const changes = changesLog(operation)
  const named = /[:*]id/.test(path)
  const shows = answer === 'html' ? { schema: null, isHtml: true as const } : administrationShows(answer)
  return {
    method,
    path,
    tag: 'administration',
    summary,
    security: 'admin',
    permission,
    ...(memberPermissions === undefined ? {} : { memberPermissions }),
    request,
    query,
    answers: Object.fromEntries([false, true].map((changed) => [successStatus(operation, changed), shows])),
    refusals: [
      ...administered,
      ...(request === null ? [] : read),
      ...(changes ? (['invalid_value', 'not_found', 'conflict', 'insufficient_user_quota'] as const) : []),
      ...(named ? (['not_found'] as const) : []),
      ...(changes ? [] : (['invalid_value', 'unsupported_parameter', 'not_found', 'read_models_unavailable'] as const)),
    ].filter((code, place, all) => all.indexOf(code) === place),
  }
}

const reading =
  (prefix: string, security: Operation['security'], more: readonly ErrorCode[] = []) =>
  (route: LedgerRoute): Operation => ({
    ...plainGet,
    tag: 'ledger',
    security,
    ...(security === 'admin' ? { permission: route.permission } : {}),
    path: prefix + route.path,
    summary: route.summary,
    query: route.query ?? {},
    ...(route.isFromMemory ? {} : reflecting),
    answers: { 200: describeRoute(route) },
    refusals: [...new Set([...(route.isFromMemory ? queried : tabled), ...more, ...(route.refusals ?? [])])],
  })

const ledger: readonly Operation[] = [
  ...ledgerRoutes.map(reading(ledgerPrefixes.own, 'key')),
  ...ledgerRoutes.map(reading(ledgerPrefixes.named, 'admin', ['not_found'])),
  ...ledgerRoutes.filter(({ ofAll }) => ofAll).map(reading(ledgerPrefixes.all, 'admin')),
]

/** Every route of the edge. A server with other routes does not start. */
export const operations: readonly Operation[] = [
  ...answering,
  embedding,
  ...geminiPrefixes.flatMap(geminiModels),
  ...videos,
  ...others,
  ...ledger,
  ...adminOperations.map(describeAdministration),
]

export const openapiDocument = (): JsonObject => openapiDocumentOf(operations, readSchema)
