import { asArray, asObject, isObject } from '../../encoding/json.ts'
import { providerCapabilities } from '../dialect/capabilities.ts'
import type { Target, UpstreamCallRequest, UpstreamRequest } from '../dialect/dialect.ts'
import type { Profile, Provider } from '../dialect/provider.ts'
import { fitMembers } from './members.ts'
import { refuseChatAccountReferences } from './references.ts'
import { refuseUnpricedChatTools } from './usage.ts'

type Draft = Record<string, unknown>

const capFields = ['max_completion_tokens', 'max_tokens'] as const

const askUsage = (draft: Draft, provider: Provider): void => {
  if (!providerCapabilities(provider).stream_options) delete draft['stream_options']
  else draft['stream_options'] = { ...asObject(draft['stream_options']), include_usage: true }
}

/** The provider's newest models take this name of the output limit. */
export const capFieldOf = (profile: Profile): (typeof capFields)[number] =>
  profile === 'openai' ? 'max_completion_tokens' : 'max_tokens'

/** The caller's own limit keeps its name. */
const capOutput = (draft: Draft, outputCap: number, profile: Profile): void => {
  const own = capFields.filter((field) => typeof draft[field] === 'number')
  for (const field of own) draft[field] = Math.min(Number(draft[field]), outputCap)
  if (own.length === 0) draft[capFieldOf(profile)] = outputCap
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
  if (outputCap !== null) capOutput(draft, outputCap, provider.profile)
  if (provider.profile !== 'openai') renameDeveloper(draft)
  if (provider.profile === 'xai') dropUnbillable(draft)
  return draft
}

export const chatCall = (provider: Provider, stream: boolean, body: object): UpstreamRequest => {
  const { baseUrl, apiKey, headers } = provider
  return {
    url: `${baseUrl.endsWith('/') ? baseUrl.slice(0, -1) : baseUrl}/chat/completions`,
    headers: {
      ...headers,
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
    },
    body: JSON.stringify(body),
  }
}

/** Forwards unknown top-level keys. Throws `unsupported_parameter` for what cannot be billed or tied to a workspace. */
export const chatRequest = (target: Target, asked: UpstreamCallRequest): UpstreamRequest => {
  refuseChatAccountReferences(asked.body)
  refuseUnpricedChatTools(target, asked)
  return chatCall(target.provider, asked.stream, bodyOf(target, asked))
}
