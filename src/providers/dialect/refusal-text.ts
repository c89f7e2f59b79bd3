import { oncePerProvider, type Provider } from './provider.ts'
import { scrub } from './scrub.ts'

const wordPattern = /^[A-Za-z0-9_.[\]-]{1,128}$/

export const errorWord = (value: unknown): string | null =>
  typeof value === 'string' && wordPattern.test(value) ? value : null

/** A shorter header is no secret, and could be a part of any word. */
const secretCharactersMin = 8

export const providerSecrets = oncePerProvider(({ apiKey, baseUrl, headers = {} }): readonly string[] => {
  const { host, hostname } = new URL(baseUrl)
  return [
    apiKey,
    baseUrl,
    host,
    hostname,
    ...Object.values(headers).filter(({ length }) => length >= secretCharactersMin),
  ]
})

export const refusalText = (message: string, provider: Provider): string =>
  scrub(message, providerSecrets(provider)) || 'The upstream provider refused the request.'
