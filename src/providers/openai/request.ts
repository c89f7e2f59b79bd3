import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import { checkMembers } from '../canonical/allowed-members.ts'
import { refuseProviderState } from '../canonical/refuse.ts'
import type { Target, UpstreamCallRequest, UpstreamRequest } from '../dialect/dialect.ts'
import { endpointOf, type Provider, providerCapabilities, requestedTier } from '../dialect/provider.ts'
import { chatMembers } from './allowed-members.ts'
import { refuseUnpricedChatTools } from './usage.ts'

const storeTools: readonly unknown[] = ['file_search', 'collections_search']

/** Throws `unsupported_parameter`: every workspace shares the account, and what it keeps has no known owner. */
function* refuseReferencesInSteps(body: JsonObject, provider: Provider): Generator<void, void> {
  for (const [index, tool] of asArray(body['tools']).entries())
    if (storeTools.includes(asObject(tool)['type'])) throw refuseProviderState(`tools[${index}].type`)
  yield* checkMembers(chatMembers, body, provider)
}

/** Those of OpenAI that providers with this dialect may refuse. */
const refusedMembers = ['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention', 'safety_identifier']

/**
 * The standard tier is named, so that an account's own default does not reach the bill; no member is sent where the
 * provider has no tiers, or other names.
 */
const setServiceTier = (draft: Record<string, unknown>, target: Target): void => {
  const { serviceTier = 'default' } = requestedTier(target, draft['service_tier'])
  delete draft['service_tier']
  if (providerCapabilities(target.provider).service_tiers.includes(serviceTier)) draft['service_tier'] = serviceTier
}

/** Leaves the members that the provider accepts, and names the service tier. */
export const fitMembers = (draft: Record<string, unknown>, target: Target): void => {
  setServiceTier(draft, target)
  if (providerCapabilities(target.provider).unknown_members === 'accepted') return
  for (const member of refusedMembers) delete draft[member]
}

type Draft = Record<string, unknown>

const capFields = ['max_completion_tokens', 'max_tokens'] as const

const askUsage = (draft: Draft, provider: Provider): void => {
  if (!providerCapabilities(provider).stream_options) delete draft['stream_options']
  else draft['stream_options'] = { ...asObject(draft['stream_options']), include_usage: true }
}

/** The provider's newest models take this name of the output limit. */
export const capFieldOf = (provider: Provider): (typeof capFields)[number] =>
  providerCapabilities(provider).output_limit ??
  (provider.profile === 'openai' ? 'max_completion_tokens' : 'max_tokens')

/** Under another name it is refused by some providers, and ignored by others, which then bill beyond it. */
const renameLimit = (draft: Draft, provider: Provider): void => {
  const name = providerCapabilities(provider).output_limit
  if (name === undefined) return
  const given = capFields.map((field) => draft[field]).filter((limit) => typeof limit === 'number')
  for (const field of capFields) delete draft[field]
  if (given.length > 0) draft[name] = Math.min(...given)
}

/** The caller's own limit keeps its name. */
const capOutput = (draft: Draft, outputCap: number, provider: Provider): void => {
  const own = capFields.filter((field) => typeof draft[field] === 'number')
  for (const field of own) draft[field] = Math.min(Number(draft[field]), outputCap)
  if (own.length === 0) draft[capFieldOf(provider)] = outputCap
}

const isDeveloper = (message: unknown): boolean => isObject(message) && message['role'] === 'developer'

/** Only OpenAI knows the role. */
const renameDeveloper = (draft: Draft): void => {
  const messages = asArray(draft['messages'])
  if (!messages.some(isDeveloper)) return
  draft['messages'] = messages.map((message) =>
    isDeveloper(message) ? { ...asObject(message), role: 'system' } : message,
  )
}

/** xAI charges for both, and its answers do not report the charge in a way that we bill. */
const dropUnbillable = (draft: Draft): void => {
  delete draft['deferred']
  delete draft['search_parameters']
}

const bodyOf = (target: Target, { body, stream, outputCap }: UpstreamCallRequest): Draft => {
  const { provider, upstreamModel } = target
  const draft: Draft = { ...body, model: upstreamModel }
  fitMembers(draft, target)
  if (stream) askUsage(draft, provider)
  renameLimit(draft, provider)
  if (outputCap !== null) capOutput(draft, outputCap, provider)
  if (provider.profile !== 'openai') renameDeveloper(draft)
  if (provider.profile === 'xai') dropUnbillable(draft)
  return draft
}

/** `path` begins with a slash, after the base URL. */
export const postToOpenAI = (provider: Provider, path: string, stream: boolean, body: object): UpstreamRequest => ({
  url: endpointOf(provider, path),
  headers: {
    ...provider.headers,
    authorization: `Bearer ${provider.apiKey}`,
    'content-type': 'application/json',
    accept: stream ? 'text/event-stream' : 'application/json',
  },
  body,
})

/** Forwards unknown top-level keys. Throws `unsupported_parameter` for what cannot be billed or tied to a workspace. */
export function* chatRequest(target: Target, request: UpstreamCallRequest): Generator<void, UpstreamRequest> {
  yield* refuseReferencesInSteps(request.body, target.provider)
  yield
  refuseUnpricedChatTools(target, request)
  return postToOpenAI(target.provider, '/chat/completions', request.stream, bodyOf(target, request))
}
