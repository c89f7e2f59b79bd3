import type { Provider } from './provider.ts'
import { scrub } from './scrub.ts'

const wordPattern = /^[A-Za-z0-9_.[\]-]{1,128}$/

/** A code or a field's name as an upstream tells it; null where it is none. */
export const errorWord = (value: unknown): string | null =>
  typeof value === 'string' && wordPattern.test(value) ? value : null

const secretsOf = ({ apiKey, baseUrl, headers = {} }: Provider): readonly string[] => {
  const { host, hostname } = new URL(baseUrl)
  return [apiKey, baseUrl, host, hostname, ...Object.values(headers)]
}

/** An upstream's message without what it says of us and of our account there; never empty. */
export const refusalText = (message: string, provider: Provider): string =>
  scrub(message, secretsOf(provider)) || 'The upstream provider refused the request.'
