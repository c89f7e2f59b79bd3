/** Whose habits an upstream of a dialect has: how it counts, and which fields it takes. */
export type Profile = 'openai' | 'xai' | 'gemini'

/** What an upstream speaks: chat completions and responses, messages, or `generateContent`. */
export type ProviderDialect = 'openai' | 'anthropic' | 'google'

/** An upstream as it is configured. The key stays in the roles that call upstream. */
export interface Provider {
  readonly name: string
  readonly dialect: ProviderDialect
  readonly profile: Profile
  /** Everything before `/chat/completions`, `/messages`, `/responses` or `/models`. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly headers?: Readonly<Record<string, string>>
}

export type Providers = ReadonlyMap<string, Provider>
