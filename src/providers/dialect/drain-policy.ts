import type { Provider } from './provider.ts'

interface DrainPolicy {
  /** Where a cancel does not stop it, the provider generates, and bills, all that was asked for. */
  readonly cancelStopsBilling: boolean
  /** How long a stream is read on after its client has left. */
  readonly drainMs: number
}

/** OpenRouter lists Bedrock, Google, Groq and Mistral as billing on. Read 2026-11. */
const stoppingHosts = /(?:^|\.)(?:openai\.com|azure\.com|anthropic\.com|x\.ai)$/
const stoppingNames: readonly string[] = ['openai', 'azure', 'anthropic', 'grok', 'xai']

const drainMsOfStopping = 15_000
const drainMsOfContinuing = 60_000

const stopsByDefault = ({ name, baseUrl }: Provider): boolean =>
  stoppingNames.includes(name) || stoppingHosts.test(new URL(baseUrl).hostname)

export const readDrainPolicy = (provider: Provider): DrainPolicy => {
  const cancelStopsBilling = provider.cancelStopsBilling ?? stopsByDefault(provider)
  return {
    cancelStopsBilling,
    drainMs: provider.drainMs ?? (cancelStopsBilling ? drainMsOfStopping : drainMsOfContinuing),
  }
}
