import { isEmbeddingSheet } from '../../domain/pricing/price-book.ts'
import type { Surface } from '../../domain/routing/plan.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, parseJsonBytes } from '../../encoding/json.ts'
import { finishSteps } from '../../encoding/steps.ts'
import type { PriceSheet } from '../../events/types.ts'
import { addressed } from '../azure/address.ts'
import type { Target, UpstreamCallRequest, UpstreamDialect, UpstreamRequest } from '../dialect/dialect.ts'
import { endpointOf, type Provider } from '../dialect/provider.ts'
import { countingRequestFor, dialectFor } from '../dialects.ts'
import type { HttpClient } from '../http.ts'
import { type CallProvider, type CheckReply, callerOf, describeFault } from './call-provider.ts'
import { checkLimits } from './limits.ts'

type ListRequest = Omit<UpstreamRequest, 'body'>

const listed = (provider: Provider, credential: Readonly<Record<string, string>>): ListRequest => ({
  url: endpointOf(provider, '/models'),
  headers: { ...provider.headers, ...credential, accept: 'application/json' },
})

const asOpenAI = (provider: Provider): ListRequest => listed(provider, { authorization: `Bearer ${provider.apiKey}` })

/** Null where the dialect has no list of models. */
const modelsRequestFor = (provider: Provider): ListRequest | null => {
  switch (provider.dialect) {
    case 'openai':
      return asOpenAI(provider)
    case 'azure':
      return addressed(provider, null, asOpenAI(provider))
    case 'anthropic':
      return listed(
        { ...provider, headers: { 'anthropic-version': '2023-06-01', ...provider.headers } },
        {
          'x-api-key': provider.apiKey,
        },
      )
    case 'google':
      return listed(provider, { 'x-goog-api-key': provider.apiKey })
    default:
      return null
  }
}

/** Some compatible servers answer with the list alone. */
const countModelsIn = (body: Uint8Array): number => {
  const json = parseJsonBytes(body)
  const { data, models } = asObject(json)
  return [json, data, models].flatMap(asArray).filter((each) => {
    const { id, name } = asObject(each)
    return asText(id) !== '' || asText(name) !== ''
  }).length
}

export interface CheckResult {
  readonly check: 'reach' | 'authentication' | 'models' | 'answer' | 'stream' | 'usage' | 'count_tokens' | 'embeddings'
  readonly result: 'ok' | 'failed' | 'skipped'
  /** Of a failure the upstream's own error, without secrets. */
  readonly detail: string
}

type Check = CheckResult['check']

export interface CheckedModel {
  /** `<provider>/<model>` */
  readonly model: string
  readonly upstreamModel: string
  readonly sheet: PriceSheet
}

const succeeded = (check: Check, detail = ''): CheckResult => ({ check, result: 'ok', detail })
const failed = (check: Check, detail: string): CheckResult => ({ check, result: 'failed', detail })
export const skipped = (check: Check, detail: string): CheckResult => ({ check, result: 'skipped', detail })

const connectionResults = (replies: readonly CheckReply[]): readonly CheckResult[] => {
  // A key that is restricted to some endpoints is refused by the others.
  const isAccepted = replies.some(({ error }) => error === null)
  const refused = isAccepted ? undefined : replies.find(({ isUnauthenticated }) => isUnauthenticated)
  const isReached = replies.some(({ status }) => status !== null)
  const authentication = refused === undefined ? succeeded('authentication') : failed('authentication', refused.error!)
  if (isReached) return [succeeded('reach'), authentication]
  if (refused !== undefined) return [skipped('reach', 'nothing was sent'), authentication]
  return [failed('reach', replies[0]?.error ?? ''), skipped('authentication', 'it was not reached')]
}

const checkModels = async (provider: Provider, call: CallProvider): Promise<CheckResult> => {
  const request = modelsRequestFor(provider)
  if (request === null) return skipped('models', 'the dialect has no list of models')
  const { error, status, bytes } = await call({ ...request, method: 'GET' }, dialectFor(provider, 'chat'))
  if (status === 404 || status === 405) return skipped('models', `the provider has no list of models (${status})`)
  return error === null ? succeeded('models', `${countModelsIn(bytes)} listed`) : failed('models', error)
}

interface Asked {
  readonly result: CheckResult
  readonly usage: Usage | null
}

type ReadReply = (dialect: UpstreamDialect, bytes: Uint8Array) => Usage | null | { readonly fault: string }

const ask = async (
  check: Check,
  surface: Surface,
  {
    target,
    request,
    call,
  }: { readonly target: Target; readonly request: UpstreamCallRequest; readonly call: CallProvider },
  read: ReadReply,
): Promise<Asked> => {
  const dialect = dialectFor(target.provider, surface)
  try {
    const reply = await call({ ...dialect.buildRequest(target, request), method: 'POST' }, dialect)
    if (reply.error !== null) return { result: failed(check, reply.error), usage: null }
    const usage = read(dialect, reply.bytes)
    if (usage !== null && 'fault' in usage) return { result: failed(check, usage.fault), usage: null }
    const id = reply.requestId === null ? '' : `, request ${reply.requestId}`
    return { result: succeeded(check, `${target.upstreamModel}${id}`), usage }
  } catch (fault) {
    return { result: failed(check, describeFault(target.provider, fault)), usage: null }
  }
}

const requestOf = (body: UpstreamCallRequest['body'], stream: boolean): UpstreamCallRequest => ({
  requestId: 'provider-test',
  body,
  stream,
  outputCap: checkLimits.outputTokens,
})

const messages = [{ role: 'user', content: 'Answer with: ok' }]

const askWhole = (target: Target, call: CallProvider): Promise<Asked> => {
  const request = requestOf({ model: target.model, messages }, false)
  return ask('answer', 'chat', { target, request, call }, (dialect, bytes) => {
    const answer = dialect.readAnswer(target, request, bytes)
    return 'fault' in answer ? answer : answer.reportedUsage
  })
}

const askStream = (target: Target, call: CallProvider): Promise<Asked> => {
  const request = requestOf({ model: target.model, messages, stream: true }, true)
  return ask('stream', 'chat', { target, request, call }, (dialect, bytes) => {
    const relay = dialect.openRelay(target, request)
    relay.push(bytes)
    if (relay.state === 'open') relay.end()
    if (relay.state === 'broken' || !relay.answering) return { fault: relay.fault ?? 'it ends without an answer' }
    return relay.reportedUsage
  })
}

const checkEmbeddings = async (target: Target, call: CallProvider): Promise<CheckResult> => {
  const request = requestOf({ model: target.model, input: 'ok' }, false)
  const { result } = await ask('embeddings', 'embeddings', { target, request, call }, (dialect, bytes) => {
    const answer = dialect.readAnswer(target, request, bytes)
    return 'fault' in answer ? answer : answer.reportedUsage
  })
  return result
}

const checkCounting = async (target: Target, call: CallProvider): Promise<CheckResult> => {
  const { provider } = target
  try {
    const request = finishSteps(countingRequestFor(target, { body: { model: target.model, messages } }))
    if (request === null) return skipped('count_tokens', 'the gateway counts by itself')
    const { error } = await call({ ...request, method: 'POST' }, dialectFor(provider, 'messages'))
    return error === null ? succeeded('count_tokens') : failed('count_tokens', error)
  } catch (fault) {
    return failed('count_tokens', describeFault(provider, fault))
  }
}

const describeUsage = ({ promptTotal, outputTotal }: Usage): string =>
  `${promptTotal} input, ${outputTotal} output tokens`

const checkUsage = (asked: readonly Asked[]): CheckResult => {
  const answered = asked.filter(({ result }) => result.result === 'ok')
  if (answered.length === 0) return skipped('usage', 'there was no answer')
  const without = answered.find(({ usage }) => usage === null)
  if (without !== undefined) return failed('usage', `the ${without.result.check} has none: its bills are estimated`)
  return succeeded('usage', answered.map(({ usage }) => describeUsage(usage!)).join('; '))
}

const checkAnswers = async (target: Target, call: CallProvider): Promise<readonly CheckResult[]> => {
  if (isEmbeddingSheet(target.sheet)) return [await checkEmbeddings(target, call)]
  const whole = await askWhole(target, call)
  const stream = await askStream(target, call)
  return [whole.result, stream.result, checkUsage([whole, stream]), await checkCounting(target, call)]
}

/**
 * Calls one deployment of a provider as requests do, with a few tokens; `model` null: its list of models alone.
 * No workspace pays, and nothing is recorded.
 */
export const checkProvider = async (
  provider: Provider,
  model: CheckedModel | null,
  { http, nowMs }: { readonly http: HttpClient; readonly nowMs: number },
): Promise<readonly CheckResult[]> => {
  const replies: CheckReply[] = []
  const send = callerOf(provider, http)
  const call: CallProvider = async (request, dialect) => {
    const reply = await send(request, dialect)
    replies.push(reply)
    return reply
  }
  const models = await checkModels(provider, call)
  const answers =
    model === null
      ? [skipped('answer', 'no model of it has a price: name one with --model')]
      : await checkAnswers({ ...model, provider, calledAtSeconds: Math.floor(nowMs / 1_000) }, call)
  return [...connectionResults(replies), models, ...answers]
}
