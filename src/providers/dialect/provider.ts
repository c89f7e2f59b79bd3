import type { ProviderCapabilities } from './capabilities.ts'

/** The variant of a dialect: how an upstream counts, and which fields it takes. */
export type Profile = 'openai' | 'xai' | 'gemini'

export type ProviderDialect = 'openai' | 'anthropic' | 'google'

export interface Provider {
  readonly name: string
  readonly dialect: ProviderDialect
  readonly profile: Profile
  /** Everything before `/chat/completions`, `/messages`, `/responses` or `/models`. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly headers?: Readonly<Record<string, string>>
  /** Absent: by its name and its host. */
  readonly capabilities?: ProviderCapabilities
  /** Absent: see `readDrainPolicy`. */
  readonly drainMs?: number
  readonly cancelStopsBilling?: boolean
}

export type Providers = ReadonlyMap<string, Provider>
