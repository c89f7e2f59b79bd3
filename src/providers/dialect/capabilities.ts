import type { ServedWith } from '../../domain/pricing/charge.ts'
import type { PriceSheet } from '../../events/types.ts'
import type { Provider } from './provider.ts'

/** What a provider accepts beyond its dialect. */
export interface ProviderCapabilities {
  readonly service_tiers?: readonly string[]
  readonly stream_options?: boolean
  readonly unknown_members?: 'accepted' | 'refused'
}

const openai: ProviderCapabilities = { service_tiers: ['default', 'flex', 'priority', 'ultrafast'] }

/** By the name of the provider or its host; the first match counts. */
const known: readonly (readonly [pattern: RegExp, capabilities: ProviderCapabilities])[] = [
  [/(?:^|\.)(?:openai|azure)(?:\.|-|$)/, openai],
  [/^grok$|(?:^|\.)x\.ai$/, { service_tiers: ['default', 'priority'] }],
  // It answers 422 to members that it does not know, and reports usage at the end of each stream.
  [/^mistral$|(?:^|\.)mistral\.ai$/, { stream_options: false, unknown_members: 'refused' }],
  [/^groq$|(?:^|\.)groq\.com$/, { unknown_members: 'refused' }],
]

/** Of `generateContent`: Google's endpoint for OpenAI clients does not document them. */
const google: ProviderCapabilities = { service_tiers: ['flex', 'priority'] }

const unlessKnown = {
  service_tiers: [],
  stream_options: true,
  unknown_members: 'accepted',
} as const satisfies ProviderCapabilities

const hostOf = (baseUrl: string): string => (URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '')

export const providerCapabilities = (provider: Provider): Required<ProviderCapabilities> => {
  const { name, baseUrl, dialect, capabilities } = provider
  if (dialect === 'google') return { ...unlessKnown, ...google, ...capabilities }
  const names = [name, hostOf(baseUrl)]
  const ofName = known.find(([pattern]) => names.some((each) => pattern.test(each)))?.[1]
  return { ...unlessKnown, ...ofName, ...capabilities }
}

/** The service tier that is asked for, where it has a price and the provider accepts it; else the standard one: nothing. */
export const requestedTier = (
  { provider, sheet }: { readonly provider: Provider; readonly sheet: PriceSheet },
  asked: unknown,
): Pick<ServedWith, 'serviceTier'> =>
  typeof asked === 'string' &&
  Object.hasOwn(sheet.service_tiers ?? {}, asked) &&
  providerCapabilities(provider).service_tiers.includes(asked)
    ? { serviceTier: asked }
    : {}
