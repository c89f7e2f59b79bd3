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

const unlessKnown = {
  service_tiers: [],
  stream_options: true,
  unknown_members: 'accepted',
} as const satisfies ProviderCapabilities

const hostOf = (baseUrl: string): string => (URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '')

export const providerCapabilities = ({ name, baseUrl, capabilities }: Provider): Required<ProviderCapabilities> => {
  const names = [name, hostOf(baseUrl)]
  const ofName = known.find(([pattern]) => names.some((each) => pattern.test(each)))?.[1]
  return { ...unlessKnown, ...ofName, ...capabilities }
}
