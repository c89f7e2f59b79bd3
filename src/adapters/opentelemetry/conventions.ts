export const operationOf = (surface: string): string => {
  if (surface === 'embeddings') return 'embeddings'
  return surface === 'gemini' ? 'generate_content' : 'chat'
}

const ofDialects: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  google: 'gcp.gemini',
  azure: 'azure.ai.openai',
  vertex: 'gcp.vertex_ai',
  bedrock: 'aws.bedrock',
}

const ofProfiles: Readonly<Record<string, string>> = { xai: 'x_ai', gemini: 'gcp.gemini' }

interface ConfiguredProvider {
  readonly dialect: string
  readonly profile: string
}

/** The well-known name, or the configured one: many providers speak OpenAI's dialect. */
export const providerNameOf = (name: string, { dialect, profile }: ConfiguredProvider): string =>
  ofDialects[dialect] ?? ofProfiles[profile] ?? (name === 'mistral' ? 'mistral_ai' : name)
