import type { ServedWith } from '../../domain/pricing/charge.ts'
import { withoutSnapshot } from '../../domain/routing/plan.ts'
import type { PriceSheet } from '../../events/types.ts'
import type { Authenticator } from './authenticator.ts'

/** The variant of a dialect: how an upstream counts, and which fields it takes. */
export type Profile = 'openai' | 'xai' | 'gemini'

export type ProviderDialect = 'openai' | 'anthropic' | 'google' | 'azure' | 'vertex' | 'bedrock'

interface CallTimeouts {
  readonly connectMs?: number
  /** Of a stream. */
  readonly firstByteMs?: number
  readonly idleMs?: number
  readonly answerMs?: number
}

interface CallRetries {
  readonly max?: number
  readonly budgetMs?: number
}

/** `models` has what differs, by public name without the provider; also for the dated snapshots of a model. */
type ForModels<Policy> = Policy & { readonly models?: Readonly<Record<string, Policy>> }

/** The way to an upstream. Absent members: directly, and by the system's certificate authorities. */
export interface Connection {
  readonly proxyUrl?: string
  /** PEM. */
  readonly ca?: string
}

export interface Provider {
  readonly name: string
  /** Which of the provider's deployments this is; absent: it has one. */
  readonly deployment?: string
  readonly dialect: ProviderDialect
  readonly profile: Profile
  /** Everything before `/chat/completions`, `/messages`, `/responses`, `/models` or `/publishers`. */
  readonly baseUrl: string
  /** Empty where an authenticator takes its place. */
  readonly apiKey: string
  readonly authenticator?: Authenticator | undefined
  /** What its messages may still show, of the credential before. */
  readonly formerSecrets?: readonly string[]
  /** Of Azure: a dated API version; absent for its v1 API. */
  readonly apiVersion?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly connection?: Connection
  /** Absent: by its name and its host. */
  readonly capabilities?: ProviderCapabilities
  /** Absent: see `readDrainPolicy`. */
  readonly drainMs?: number
  readonly cancelStopsBilling?: boolean
  readonly timeouts?: ForModels<CallTimeouts>
  readonly retries?: ForModels<CallRetries>
  /** Among which its workspaces are divided; absent: it is called as it is. */
  readonly deployments?: readonly Deployment[]
}

export interface Deployment {
  readonly name: string
  readonly weight: number
  readonly requestsPerMinute?: number
  readonly tokensPerMinute?: number
  /** Public names to names there, of the models that it serves; absent: all of the provider's. */
  readonly models?: Readonly<Record<string, string>>
  /** The provider as it is called by this deployment. */
  readonly provider: Provider
}

export type Providers = ReadonlyMap<string, Provider>

/** What a provider accepts beyond its dialect. */
export interface ProviderCapabilities {
  readonly service_tiers?: readonly string[]
  readonly stream_options?: boolean
  readonly unknown_members?: 'accepted' | 'refused'
  readonly allow_members?: readonly string[]
  readonly responses?: boolean
  /** The only name of the output limit that it obeys; absent: the caller's own, or the profile's. */
  readonly output_limit?: 'max_tokens' | 'max_completion_tokens'
}

const openai: ProviderCapabilities = { service_tiers: ['default', 'flex', 'priority', 'ultrafast'] }

interface KnownProvider {
  /** Of its host, or of its name where the host is of none, such as a relay's. */
  readonly pattern: RegExp
  /** Absent: `openai`. */
  readonly profile?: Profile
  readonly capabilities?: ProviderCapabilities
  /** Of a chat; absent: it has no bound that is published. */
  readonly stopSequencesMax?: number
  /** A cancel ends what it generates, and bills. OpenRouter lists Bedrock, Google, Groq and Mistral as billing on. Read 2026-11. */
  readonly stopsBilling?: true
}

const ofOpenAI = { capabilities: openai, stopSequencesMax: 4, stopsBilling: true } as const

/** The first match counts. */
const known: readonly KnownProvider[] = [
  { pattern: /^(?:openai|azure)$|(?:^|\.)(?:openai|azure)\.com$/, ...ofOpenAI },
  { pattern: /^anthropic$|(?:^|\.)anthropic\.com$/, stopsBilling: true },
  {
    pattern: /^(?:grok|xai)$|(?:^|\.)x\.ai$/,
    profile: 'xai',
    capabilities: { service_tiers: ['default', 'priority'] },
    stopSequencesMax: 4,
    stopsBilling: true,
  },
  { pattern: /^(?:google|gemini)$|(?:^|\.)generativelanguage\.googleapis\.com$/, profile: 'gemini' },
  // It answers 422 to members that it does not know, and reports usage at the end of each stream.
  {
    pattern: /^mistral$|(?:^|\.)mistral\.ai$/,
    capabilities: {
      stream_options: false,
      unknown_members: 'refused',
      responses: false,
      output_limit: 'max_tokens',
    },
  },
  {
    pattern: /^(?:deepseek|together)$|(?:^|\.)(?:deepseek\.com|together\.(?:xyz|ai))$/,
    capabilities: { responses: false, output_limit: 'max_tokens' },
  },
  // Ollama ignores the other name without an error: https://github.com/ollama/ollama/issues/7125
  { pattern: /^(?:ollama|lm-?studio)$/, capabilities: { output_limit: 'max_tokens' } },
  { pattern: /^groq$|(?:^|\.)groq\.com$/, capabilities: { unknown_members: 'refused' } },
]

/** Of a relay to OpenAI or Azure, or a second entry for one. */
const openaiLike = /(?:^|\.)(?:openai|azure)(?:\.|-|$)/

const hostOf = (baseUrl: string): string => (URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '')

type Named = Pick<Provider, 'name' | 'baseUrl'> & { readonly dialect?: ProviderDialect }

const findKnown = ({ name, baseUrl, dialect }: Named): Omit<KnownProvider, 'pattern'> => {
  if (dialect === 'azure') return ofOpenAI
  const texts = [hostOf(baseUrl), name]
  const [found] = texts.flatMap((text) => known.find(({ pattern }) => pattern.test(text)) ?? [])
  return found ?? (texts.some((text) => openaiLike.test(text)) ? { capabilities: openai, stopSequencesMax: 4 } : {})
}

export const resolveProfile = (provider: Named): Profile => findKnown(provider).profile ?? 'openai'

/** Azure refuses unknown members of the dated API versions, and they have no tiers; v1 is as OpenAI. */
const azureCapabilities = ({ apiVersion }: Provider): ProviderCapabilities =>
  apiVersion === undefined
    ? { service_tiers: ['default', 'priority'] }
    : { service_tiers: [], unknown_members: 'refused' }

/** Tiers of Vertex AI are asked for by headers, and bought by contract; those of Bedrock differ by model. */
const cloud: ProviderCapabilities = { service_tiers: [] }

/** Of `generateContent`: Google's endpoint for OpenAI clients does not document them. */
const google: ProviderCapabilities = { service_tiers: ['flex', 'priority'] }

const unlessKnown = {
  service_tiers: [],
  stream_options: true,
  unknown_members: 'accepted',
  allow_members: [],
  responses: true,
} as const satisfies ProviderCapabilities

type Resolved = Required<Omit<ProviderCapabilities, 'output_limit'>> & Pick<ProviderCapabilities, 'output_limit'>

/** What follows from a provider alone is computed for its first request. */
const oncePerProvider = <Found>(compute: (provider: Provider) => Found): ((provider: Provider) => Found) => {
  const computed = new WeakMap<Provider, { readonly found: Found }>()
  return (provider) => {
    const known = computed.get(provider) ?? { found: compute(provider) }
    computed.set(provider, known)
    return known.found
  }
}

export const providerCapabilities = oncePerProvider((provider): Resolved => {
  const { dialect, profile, capabilities } = provider
  if (dialect === 'google') return { ...unlessKnown, ...google, ...capabilities }
  if (dialect === 'vertex' || dialect === 'bedrock') return { ...unlessKnown, ...cloud, ...capabilities }
  if (dialect === 'azure') return { ...unlessKnown, ...azureCapabilities(provider), ...capabilities }
  return { ...unlessKnown, responses: profile !== 'gemini', ...findKnown(provider).capabilities, ...capabilities }
})

export const stopSequencesMaxOf = oncePerProvider(
  (provider): number => findKnown(provider).stopSequencesMax ?? Number.POSITIVE_INFINITY,
)

/** A shorter header is no secret, and could be a part of any word. */
const secretCharactersMin = 8

/** Values of a provider's own headers that may be secrets. */
export const secretHeaderValues = ({ headers = {} }: Pick<Provider, 'headers'>): readonly string[] =>
  Object.values(headers).filter(({ length }) => length >= secretCharactersMin)

export const providerCredentials = (provider: Provider): readonly string[] => [
  provider.apiKey,
  ...(provider.formerSecrets ?? []),
  ...secretHeaderValues(provider),
  ...(provider.authenticator?.secrets() ?? []),
]

const addressOf = oncePerProvider(({ baseUrl }): readonly string[] => {
  const { host, hostname } = new URL(baseUrl)
  return [baseUrl, host, hostname]
})

export const providerSecrets = (provider: Provider): readonly string[] => [
  ...providerCredentials(provider),
  ...addressOf(provider),
]

/** The service tier that is asked for, where it has a price and the provider accepts it; else the standard one: nothing. */
export const requestedTier = (
  { provider, sheet }: { readonly provider: Provider; readonly sheet: PriceSheet },
  tier: unknown,
): Pick<ServedWith, 'serviceTier'> =>
  typeof tier === 'string' &&
  Object.hasOwn(sheet.service_tiers ?? {}, tier) &&
  providerCapabilities(provider).service_tiers.includes(tier)
    ? { serviceTier: tier }
    : {}

export const policyFor = <Policy extends object>(
  policy: ForModels<Policy> | undefined,
  model: string,
): Partial<Policy> => {
  if (policy?.models === undefined) return policy ?? {}
  const name = model.slice(model.indexOf('/') + 1)
  const { models } = policy
  const named = [name, withoutSnapshot(name)].find((each) => Object.hasOwn(models, each))
  return Object.assign({}, policy, named === undefined ? {} : models[named])
}

interface DrainPolicy {
  /** Where a cancel does not stop it, the provider generates, and bills, all that was asked for. */
  readonly cancelStopsBilling: boolean
  /** How long a stream is read on after its client has left. */
  readonly drainMs: number
}

const drainMsOfStopping = 15_000
const drainMsOfContinuing = 60_000

export const readDrainPolicy = (provider: Provider): DrainPolicy => {
  const cancelStopsBilling = provider.cancelStopsBilling ?? findKnown(provider).stopsBilling === true
  return {
    cancelStopsBilling,
    drainMs: provider.drainMs ?? (cancelStopsBilling ? drainMsOfStopping : drainMsOfContinuing),
  }
}

export const endpointOf = ({ baseUrl }: Provider, path: string): string =>
  `${baseUrl.endsWith('/') ? baseUrl.slice(0, -1) : baseUrl}${path}`
